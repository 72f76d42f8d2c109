package storage

import (
	"context"
	"slices"
)

var runningSchema = &Schema{
	Name:    "running",
	Fields:  []string{"org", "fingerprint"},
	Indexes: []Index{{Name: "fingerprint", Fields: []string{"org", "fingerprint"}}},
}

// Running says that a fingerprint runs, or is about to run, in an environment.
type Running struct {
	Org         string `json:"org"`
	Environment string `json:"environment"` // id
	Fingerprint string `json:"fingerprint"`
	// Since is the number of the snapshot it started with. It runs once that
	// snapshot is there; until then it is starting.
	Since int64 `json:"since"`
}

// RunningSet keeps what runs where, for whoever changes facts about it. An entry
// is put before the facts of a starting artifact are read, and removed after the
// snapshot in which it exited.
type RunningSet struct {
	collection *Collection[Running]
}

func newRunningSet(docs Documents) *RunningSet {
	return &RunningSet{collection: NewCollection(docs, runningSchema,
		func(r *Running) string { return runningID(r.Environment, r.Fingerprint) },
		func(r *Running) map[string]any {
			return map[string]any{"org": r.Org, "fingerprint": r.Fingerprint}
		})}
}

func runningID(environment, fingerprint string) string { return environment + "/" + fingerprint }

// Start adds entries; those that are there already stay as they are.
func (r *RunningSet) Start(ctx context.Context, entries []Running) error {
	_, err := r.collection.InsertMany(ctx, entries)
	return err
}

// Stop removes the entries of fingerprints that have exited from an environment.
func (r *RunningSet) Stop(ctx context.Context, environment string, fingerprints []string) error {
	ids := make([]string, 0, len(fingerprints))
	for _, fingerprint := range fingerprints {
		ids = append(ids, runningID(environment, fingerprint))
	}
	return r.collection.Delete(ctx, ids...)
}

// Find returns where a fingerprint runs in an organization, at most MaxMany
// places.
func (r *RunningSet) Find(ctx context.Context, org, fingerprint string) ([]Running, error) {
	found, _, err := r.collection.Find(ctx, Query{
		Index: "fingerprint", Equal: []any{org, fingerprint}, Limit: MaxMany,
	})
	return found, err
}

// Any tells whether one of the fingerprints runs, or is about to, in an
// organization.
func (r *RunningSet) Any(ctx context.Context, org string, fingerprints []string) (bool, error) {
	for wanted := range slices.Chunk(fingerprints, MaxMany) {
		found, _, err := r.collection.FindFields(ctx, Query{Index: "fingerprint", Equal: []any{org, in(wanted)}, Limit: 1})
		if err != nil || len(found) > 0 {
			return err == nil, err
		}
	}
	return false, nil
}
