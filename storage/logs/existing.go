package logs

import (
	"context"
	"maps"
	"slices"

	"attestry/storage"
)

// searchAge is the number of seconds after which the facts of searched kinds are searched again.
const searchAge = 24 * 60 * 60

// progress is how far a collection has been searched for facts without a leaf.
type progress struct {
	Collection string `json:"collection"`
	// After is the id of the last document that was read.
	After string `json:"after"`
	Done  bool   `json:"done"`
	// DoneAt is when the search was done, in Unix seconds.
	DoneAt float64 `json:"done_at,omitempty"`
}

var progressSchema = &storage.Schema{Name: "log_search"}

// AddExisting stores leaves for the facts of a collection that have none, such as those of earlier versions. It
// continues where an earlier call has ended. Once the search is done, it does nothing, but searched kinds are searched
// again after searchAge. now is the time in Unix seconds.
func (l *Logs) AddExisting(ctx context.Context, schema *storage.Schema, now float64) error {
	kind := kindNamed(schema.Name)
	if kind == nil {
		return nil
	}
	stored, err := l.progress.GetOrZero(ctx, schema.Name)
	if err != nil {
		return err
	}
	search := stored.Value
	search.Collection = schema.Name
	if search.Done && kind.searched && now-search.DoneAt >= searchAge { // facts may have lost their leaves since
		search.After, search.Done = "", false
	}
	for !search.Done {
		records, err := l.docs.List(ctx, schema, search.After, storage.MaxMany, pageBytes)
		if err != nil {
			return err
		}
		if err := l.addLeaves(ctx, kind, records); err != nil {
			return err
		}
		if len(records) > 0 {
			search.After = records[len(records)-1].ID
		} else {
			search.Done, search.DoneAt = true, now
		}
		if err := l.progress.Put(ctx, search); err != nil {
			return err
		}
	}
	return nil
}

// addLeaves stores leaves for the facts that are not in the log. The sequencer drops second leaves of a fact.
func (l *Logs) addLeaves(ctx context.Context, kind *kind, facts []storage.Record) error {
	leaves := make([]Leaf, 0, len(facts))
	of := map[string]*storage.Record{}
	for i := range facts {
		leaf, err := kind.leaf(&facts[i], facts[i].Float(kind.time))
		if err != nil {
			return err
		}
		leaves = append(leaves, leaf)
		of[leaf.key()] = &facts[i]
	}
	leaves, err := l.DropIndexed(ctx, leaves)
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

// Forget restarts the search of all collections, as facts may be stored without leaves from now on.
func (l *Logs) Forget(ctx context.Context) error {
	return l.progress.Delete(ctx, slices.Sorted(maps.Keys(kinds))...)
}
