package environments

import (
	"context"
	"slices"

	"attestry/evidence/snapshot"
	"attestry/storage"
)

// maxArtifactEvents bounds the events of artifacts, the newest of them.
const maxArtifactEvents = 10 * storage.MaxMany

// OfArtifacts returns the events of fingerprints in the environments of an organization, newest first.
func (e *Events) OfArtifacts(ctx context.Context, org string, fingerprints []string) ([]snapshot.Event, error) {
	var events []snapshot.Event
	for some := range slices.Chunk(fingerprints, storage.MaxMany) {
		found, err := storage.FindAll(ctx, e.log, storage.Query{
			Index: "artifact", Equal: []any{org, storage.TextSet(some)}, Descending: true, Limit: maxArtifactEvents,
		})
		if err != nil {
			return nil, err
		}
		events = append(events, found...)
	}
	return events, nil
}

// Beginning returns the fingerprints that run or ran in an organization and begin with hex digits. ErrAmbiguous means
// that these are too many.
func (e *Events) Beginning(ctx context.Context, org, digits string) ([]string, error) {
	found, err := storage.FindByPrefix(ctx, e.log, storage.Query{Index: "artifact", Equal: []any{org}}, "fingerprint", digits)
	return storage.DistinctValues(found, "fingerprint"), err
}
