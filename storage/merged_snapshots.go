package storage

import (
	"context"
	"slices"

	"attestry/evidence/snapshot"
)

// Merged returns places in the order of time of several environments' snapshots, up
// to a point in time in Unix seconds, from the offset on, oldest or newest first: one
// command per MaxScan places that lie before the last of them.
func (s *Snapshots) Merged(ctx context.Context, environments []string, until float64, offset, limit int, descending bool) ([]snapshot.Place, error) {
	if len(environments) == 0 || limit == 0 {
		return nil, nil
	}
	entries, err := takeFields(ctx, s.collection, Query{
		Index: "time", Equal: []any{oneOrIn(environments)}, To: &Bound{Value: until},
		Descending: descending, Offset: offset, Limit: limit,
	})
	places := make([]snapshot.Place, 0, len(entries))
	for _, entry := range entries {
		places = append(places, placeOf(entry))
	}
	return places, err
}

func placeOf(entry Record) snapshot.Place {
	place := snapshot.Place{ID: entry.ID}
	place.Environment, _ = entry.Fields["environment"].(string)
	place.Number, _ = entry.Fields["number"].(int64)
	place.Timestamp, _ = entry.Fields["time"].(float64)
	return place
}

// InForce returns the places of the snapshots that are in force in several
// environments at a place in their order of time, that one's included, by
// environment. Those that have none yet are left out. It costs one command as long
// as the last thousand snapshots before it are of all the environments.
func (s *Snapshots) InForce(ctx context.Context, environments []string, at snapshot.Place) (map[string]snapshot.Place, error) {
	found := map[string]snapshot.Place{}
	query := Query{Index: "time", To: &Bound{Value: at.Timestamp}, Descending: true, Limit: MaxMany}
	for wanted := environments; len(wanted) > 0; {
		query.Equal = []any{oneOrIn(wanted)}
		entries, next, err := s.collection.FindFields(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			place := placeOf(entry)
			if _, known := found[place.Environment]; !known && place.Compare(at) <= 0 {
				found[place.Environment] = place
			}
		}
		if next == "" {
			break
		}
		query.After = next
		wanted = slices.DeleteFunc(slices.Clone(wanted), func(environment string) bool {
			_, known := found[environment]
			return known
		})
	}
	return found, nil
}

// At returns the snapshots at places, in their order; those that are not there are
// left out.
func (s *Snapshots) At(ctx context.Context, places []snapshot.Place) ([]snapshot.Snapshot, error) {
	ids := make([]string, 0, len(places))
	for _, place := range places {
		ids = append(ids, snapshotID(place.Environment, place.Number))
	}
	return s.collection.GetMany(ctx, ids)
}
