package logs

import (
	"context"
	"maps"
	"slices"

	"attestry/storage"
)

// searchAge is after how many seconds the facts of kinds that are searched are looked through again.
const searchAge = 24 * 60 * 60

// progress is how far the facts of a collection have been looked through for those without a leaf.
type progress struct {
	Collection string `json:"collection"`
	// After is the id of the last document that was looked at.
	After string `json:"after"`
	Done  bool   `json:"done"`
	// DoneAt is when all had been looked at, in Unix seconds.
	DoneAt float64 `json:"done_at,omitempty"`
}

// begin begins anew where facts may have lost their leaves since all were looked at.
func (p *progress) begin(kind *kind, now float64) {
	if p.Done && kind.searched && now-p.DoneAt >= searchAge {
		p.After, p.Done = "", false
	}
}

var progressSchema = &storage.Schema{Name: "log_search"}

// AddExisting stores the leaves of the facts in a collection that have none, as those of earlier versions. It continues
// where an earlier call has ended, and does nothing once it has come to the end, for kinds that are searched at most for a
// day. Now is the time in Unix seconds.
func (l *Logs) AddExisting(ctx context.Context, schema *storage.Schema, now float64) error {
	kind := kindNamed(schema.Name)
	if kind == nil {
		return nil
	}
	seen, err := l.progress.GetOrZero(ctx, schema.Name)
	if err != nil {
		return err
	}
	at := seen.Value
	at.Collection = schema.Name
	at.begin(kind, now)
	for !at.Done {
		records, err := l.docs.List(ctx, schema, at.After, storage.MaxMany, pageBytes)
		if err != nil {
			return err
		}
		if err := l.addLeaves(ctx, kind, records); err != nil {
			return err
		}
		if len(records) > 0 {
			at.After = records[len(records)-1].ID
		} else {
			at.Done, at.DoneAt = true, now
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
		leaf, err := kind.leaf(&facts[i], facts[i].Float(kind.time))
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
