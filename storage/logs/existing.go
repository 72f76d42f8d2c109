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

var progressSchema = &storage.Schema{Name: "log_search"}

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
		records, err := l.docs.List(ctx, schema, at.After, storage.MaxMany, pageBytes)
		if err != nil {
			return err
		}
		if err := l.addLeaves(ctx, kind, records); err != nil {
			return err
		}
		at.Done = len(records) == 0
		if !at.Done {
			at.After = records[len(records)-1].ID
		}
		if err := l.progress.Put(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

// addLeaves stores leaves of those of the facts that are not in the log. Those that wait for it may get a second one, which the
// sequencer drops.
func (l *Logs) addLeaves(ctx context.Context, kind *kind, facts []storage.Record) error {
	leaves := make([]Leaf, 0, len(facts))
	of := map[string]*storage.Record{}
	for i := range facts {
		created, _ := facts[i].Fields[kind.time].(float64)
		leaf, err := kind.leaf(&facts[i], created)
		if err != nil {
			return err
		}
		leaves = append(leaves, leaf)
		of[leaf.key()] = &facts[i]
	}
	leaves, err := l.DropPlaced(ctx, leaves)
	if err != nil {
		return err
	}
	var writes []storage.Write
	for i := range leaves {
		added, err := kind.writes(&leaves[i], of[leaves[i].key()], storage.WriteAdd)
		if err != nil {
			return err
		}
		writes = append(writes, added...)
	}
	for some := range slices.Chunk(writes, storage.MaxMany) {
		if err := l.docs.Write(ctx, some...); err != nil {
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
