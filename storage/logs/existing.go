package logs

import (
	"context"
	"maps"
	"slices"

	"attestry/storage"
)

// progress is how far the facts of a collection have been looked through that were stored by a version without logs.
type progress struct {
	Collection string `json:"collection"`
	// After is the id of the last document that was looked at.
	After string `json:"after"`
	Done  bool   `json:"done"`
}

var progressSchema = &storage.Schema{Name: "log_progress"}

// existingBytes bounds the documents that are looked at with one command.
const existingBytes = 8 << 20

// AddExisting stores the leaves of the facts in a collection that have none, as those of earlier versions. It continues
// where an earlier call has ended, and does nothing once it has come to the end.
func (l *Logs) AddExisting(ctx context.Context, schema *storage.Schema) error {
	kind := kindNamed(schema.Name)
	if kind == nil {
		return nil
	}
	seen, err := storage.GetOrZero(ctx, l.progress, schema.Name)
	if err != nil {
		return err
	}
	at := seen.Value
	at.Collection = schema.Name
	for !at.Done {
		records, err := l.docs.List(ctx, schema, at.After, storage.MaxMany, existingBytes)
		if err != nil {
			return err
		}
		leaves := make([]Leaf, 0, len(records))
		for i := range records {
			time, _ := records[i].Fields[kind.time].(float64)
			leaf, err := kind.leaf(&records[i], time)
			if err != nil {
				return err
			}
			leaves = append(leaves, leaf)
			at.After = records[i].ID
		}
		at.Done = len(records) == 0
		if _, err := l.leaves.InsertMany(ctx, leaves); err != nil {
			return err
		}
		if err := l.progress.Put(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

// Forget has the facts of all collections looked for again from the beginning: some may be stored without leaves from
// now on.
func (l *Logs) Forget(ctx context.Context) error {
	return l.progress.Delete(ctx, slices.Sorted(maps.Keys(kinds))...)
}
