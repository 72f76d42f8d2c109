package environments

import (
	"context"
	"strconv"

	"attestry/evidence/snapshot"
	"attestry/storage"
)

var eventSchema = &storage.Schema{
	Name:   "environment_events",
	Fields: []string{"org", "environment", "fingerprint", "ordinal", "time", "repo", "repo_environment"},
	Indexes: []storage.Index{
		{Name: "ordinal", Fields: []string{"environment", "ordinal"}},
		{Name: "time", Fields: []string{"environment", "time", "ordinal"}},
		{Name: "artifact", Fields: []string{"org", "fingerprint", "time"}},
		{Name: "repo", Fields: []string{"repo", "repo_environment", "time", "ordinal"}},
	},
}

// Events keeps the event logs of environments. An event is stored once for the log,
// and once for each repository that its artifact comes from; these have a time and an
// ordinal and none of the other fields by which the log is found. The log of a logical
// environment holds copies of its members' events, which are not found by artifact: it
// happened once.
type Events struct {
	collection *storage.Collection[loggedEvent]
}

// loggedEvent is an event in the log, or in the part of a repository.
type loggedEvent struct {
	snapshot.Event
	Repo string `json:"repo,omitempty"`
}

func (e *loggedEvent) id() string {
	id := e.Environment + "/" + strconv.FormatInt(e.Ordinal, 10)
	if e.Repo != "" {
		id += "/" + e.Repo
	}
	return id
}

func (e *loggedEvent) fields() map[string]any {
	if e.Repo != "" {
		return map[string]any{"repo_environment": e.Environment, "repo": e.Repo, "time": e.Timestamp, "ordinal": e.Ordinal}
	}
	fields := map[string]any{"environment": e.Environment, "ordinal": e.Ordinal, "time": e.Timestamp}
	if e.Member == "" {
		fields["org"], fields["fingerprint"] = e.Org, e.Fingerprint
	}
	return fields
}

// NewEvents binds the repository to an engine.
func NewEvents(docs storage.Documents) *Events {
	return &Events{collection: storage.NewCollection(docs, eventSchema, (*loggedEvent).id, (*loggedEvent).fields)}
}

// Record stores events; those that are there already stay as they are.
func (e *Events) Record(ctx context.Context, events []snapshot.Event) error {
	_, err := e.collection.InsertMany(ctx, loggedEvents(events))
	return err
}

// RecordIn adds to a batch what Record does.
func (e *Events) RecordIn(batch *storage.Batch, events []snapshot.Event) {
	e.collection.AddIn(batch, loggedEvents(events)...)
}

// loggedEvents are events with the parts they are in.
func loggedEvents(events []snapshot.Event) []loggedEvent {
	var logged []loggedEvent
	for _, event := range events {
		logged = append(logged, loggedEvent{Event: event})
		for _, repo := range event.Repos {
			logged = append(logged, loggedEvent{Event: event, Repo: repo})
		}
	}
	return logged
}

// eventsOf are the events without the parts they are in.
func eventsOf(logged []loggedEvent) []snapshot.Event {
	events := make([]snapshot.Event, 0, len(logged))
	for _, event := range logged {
		events = append(events, event.Event)
	}
	return events
}

// Between returns the events of an environment with ordinals from first to last,
// at most MaxMany, in the order asked for.
func (e *Events) Between(ctx context.Context, environment string, first, last int64, descending bool) ([]snapshot.Event, error) {
	events, err := storage.FindAll(ctx, e.collection, storage.Query{
		Index:      "ordinal",
		Equal:      []any{environment},
		From:       &storage.Bound{Value: first},
		To:         &storage.Bound{Value: last},
		Descending: descending,
		Limit:      storage.MaxMany,
	})
	return eventsOf(events), err
}
