package storage

import "context"

// JoinVersions is the list of what join makes of each head and its versions. The query finds those of all heads, and of is the
// name of the head of a version: one command per batch of heads, and one for all versions. If these exceed a batch, join gets
// nil in place of them.
func JoinVersions[H, V, J any](heads *Batches[H], versions Collection[V], query Query, of func(*V) string, join func(head *H, all map[string][]V) J) *Batches[J] {
	var all map[string][]V
	asked := false
	return MapBatches(heads, func(ctx context.Context, found []H, maxBytes int) ([]J, error) {
		if !asked {
			query.Limit, query.MaxBytes = MaxMany, maxBytes
			read, next, err := versions.Find(ctx, query)
			if err != nil {
				return nil, err
			}
			if asked = true; next == "" {
				all = map[string][]V{}
				for i := range read {
					all[of(&read[i])] = append(all[of(&read[i])], read[i])
				}
			}
		}
		joined := make([]J, 0, len(found))
		for i := range found {
			joined = append(joined, join(&found[i], all))
		}
		return joined, nil
	})
}
