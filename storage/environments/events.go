package environments

import (
	"context"
	"slices"

	"attestry/evidence/snapshot"
	"attestry/storage"
)

var eventSchema = storage.NewSchema("environment_events",
	storage.Index{Name: "time", Fields: []string{"environment", "time", "ordinal"}, Required: "environment"},
	storage.Index{Name: "artifact", Fields: []string{"org", "fingerprint", "time"}, Required: "fingerprint"},
	storage.Index{Name: "repo", Fields: []string{"repo", "repo_environment", "time", "ordinal"}, Required: "repo"})

// Events keeps the event logs of environments. The log of a logical environment holds copies of its members' events,
// which are not found by artifact: each happened once.
type Events struct {
	docs    storage.Documents
	log     storage.Collection[snapshot.Event]
	ofRepos storage.Collection[repoEvent]
}

// repoEvent says that the artifact of an event comes from a repository. Of the event it has only the time and ordinal.
type repoEvent struct {
	Environment string  `json:"environment"` // id
	Ordinal     int64   `json:"ordinal"`
	Repo        string  `json:"repo"` // id
	Timestamp   float64 `json:"timestamp"`
}

func (e *repoEvent) id() string { return numbered(e.Environment, e.Ordinal) + "/" + e.Repo }

func (e *repoEvent) fields() map[string]any {
	return map[string]any{"repo_environment": e.Environment, "repo": e.Repo, "time": e.Timestamp, "ordinal": e.Ordinal}
}

func eventFields(e *snapshot.Event) map[string]any {
	fields := map[string]any{"environment": e.Environment, "ordinal": e.Ordinal, "time": e.Timestamp}
	if e.Member == "" {
		fields["org"], fields["fingerprint"] = e.Org, e.Fingerprint
	}
	return fields
}

// NewEvents binds the repository to an engine.
func NewEvents(docs storage.Documents) *Events {
	return &Events{
		docs: docs,
		log: storage.NewCollection(docs, eventSchema,
			func(e *snapshot.Event) string { return numbered(e.Environment, e.Ordinal) }, eventFields),
		ofRepos: storage.NewCollection(docs, eventSchema, (*repoEvent).id, (*repoEvent).fields),
	}
}

// Record stores events; those that exist stay as they are.
func (e *Events) Record(ctx context.Context, events []snapshot.Event) error {
	batch := &storage.Batch{}
	e.RecordIn(batch, events)
	return batch.Write(ctx, e.docs)
}

// RecordIn is Record with a batch.
func (e *Events) RecordIn(batch *storage.Batch, events []snapshot.Event) {
	e.log.AddIn(batch, events...)
	for _, event := range events {
		for _, repo := range event.Repos {
			e.ofRepos.AddIn(batch, repoEvent{
				Environment: event.Environment, Ordinal: event.Ordinal, Repo: repo, Timestamp: event.Timestamp,
			})
		}
	}
}

// Between returns the events of an environment with ordinals from first to last, at most MaxMany.
func (e *Events) Between(ctx context.Context, environment string, first, last int64, descending bool) ([]snapshot.Event, error) {
	ordinals := make([]int64, 0, max(0, last-first+1))
	for ordinal := first; ordinal <= last; ordinal++ {
		ordinals = append(ordinals, ordinal)
	}
	if descending {
		slices.Reverse(ordinals)
	}
	return e.withOrdinals(ctx, environment, ordinals)
}
