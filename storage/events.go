package storage

import (
	"context"
	"strconv"

	"attestry/evidence/snapshot"
)

var eventSchema = &Schema{
	Name:   "environment_events",
	Fields: []string{"org", "environment", "fingerprint", "ordinal", "time"},
	Indexes: []Index{
		{Name: "ordinal", Fields: []string{"environment", "ordinal"}},
		{Name: "time", Fields: []string{"environment", "time"}},
		{Name: "artifact", Fields: []string{"org", "fingerprint", "time"}},
	},
}

// Events keeps the event logs of environments.
type Events struct {
	collection *Collection[snapshot.Event]
}

func newEvents(docs Documents) *Events {
	return &Events{collection: NewCollection(docs, eventSchema,
		func(e *snapshot.Event) string { return e.Environment + "/" + strconv.FormatInt(e.Ordinal, 10) },
		func(e *snapshot.Event) map[string]any {
			return map[string]any{
				"org": e.Org, "environment": e.Environment, "fingerprint": e.Fingerprint, "ordinal": e.Ordinal, "time": e.Timestamp,
			}
		})}
}

// Record stores events; those that are there already stay as they are.
func (e *Events) Record(ctx context.Context, events []snapshot.Event) error {
	_, err := e.collection.InsertMany(ctx, events)
	return err
}

// Between returns the events of an environment with ordinals from first to last,
// at most MaxMany, in the order asked for.
func (e *Events) Between(ctx context.Context, environment string, first, last int64, descending bool) ([]snapshot.Event, error) {
	events, _, err := e.collection.Find(ctx, Query{
		Index:      "ordinal",
		Equal:      []any{environment},
		From:       &Bound{Value: first},
		To:         &Bound{Value: last},
		Descending: descending,
		Limit:      MaxMany,
	})
	return events, err
}
