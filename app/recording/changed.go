package recording

import (
	"cmp"
	"context"

	"attestry/storage"
)

// maxChanged bounds the facts of each kind that ChangedTrails reads.
const maxChanged = 20 * storage.MaxMany

// ReflectedUntil returns the time in Unix seconds up to which trails and slots reflect all facts; 0 means unknown.
func (r *Recorder) ReflectedUntil(ctx context.Context, org string) (float64, error) {
	mark, err := r.marks.get(ctx, org)
	return mark.start(), err
}

// ChangedTrails returns the keys of the trails of an organization to which something was reported after a time in Unix
// seconds, or which got a commit of another author. ok is false if there are too many to be read.
func (r *Recorder) ChangedTrails(ctx context.Context, org string, since float64) (keys []string, ok bool, err error) {
	for _, changes := range []struct {
		index string
		find  func(context.Context, storage.Query) ([]storage.Record, string, error)
	}{
		{"time", r.Attestations.Collection.FindFields},
		{"created", r.Artifacts.Collection.FindFields},
		{"author", r.Trails.Collection.FindFields},
	} {
		query := storage.Query{
			Index: changes.index, Equal: []any{org}, From: &storage.Bound{Value: since, Exclusive: true}, Limit: storage.MaxMany,
		}
		for read, more := 0, true; more; more = query.After != "" {
			if read >= maxChanged {
				return nil, false, nil
			}
			found, next, err := changes.find(ctx, query)
			if err != nil {
				return nil, false, err
			}
			for i := range found {
				keys = append(keys, cmp.Or(found[i].Text("trail"), found[i].ID))
			}
			read, query.After = read+len(found), next
		}
	}
	return keys, true, nil
}
