package storage

import (
	"context"
	"slices"

	"attestry/evidence/snapshot"
)

// Receipt says that an attestation of an artifact came in.
type Receipt struct {
	ID, Name string
	Trail    string // key
	// Fingerprint is that of the artifact.
	Fingerprint string
	Time        float64 // Unix seconds
}

// Received returns what was attested of fingerprints in a flow, at most MaxMany
// attestations, in no certain order: one command. What was attested by an
// artifact's name is not among it.
func (a *Attestations) Received(ctx context.Context, org, flow string, fingerprints []string) ([]Receipt, error) {
	if len(fingerprints) == 0 {
		return nil, nil
	}
	entries, _, err := a.collection.FindFields(ctx, Query{
		Index: "flow_fingerprint", Equal: []any{org, flow, in(fingerprints)}, Limit: MaxMany,
	})
	if err != nil {
		return nil, err
	}
	receipts := make([]Receipt, 0, len(entries))
	for _, entry := range entries {
		receipt := Receipt{ID: entry.ID}
		receipt.Name, _ = entry.Fields["name"].(string)
		receipt.Trail, _ = entry.Fields["trail"].(string)
		receipt.Fingerprint, _ = entry.Fields["fingerprint"].(string)
		receipt.Time, _ = entry.Fields["time"].(float64)
		receipts = append(receipts, receipt)
	}
	return receipts, nil
}

// maxArtifactEvents bounds the events of artifacts, the newest of them.
const maxArtifactEvents = 10 * MaxMany

// OfArtifacts returns what happened to fingerprints in the environments of an
// organization, newest first.
func (e *Events) OfArtifacts(ctx context.Context, org string, fingerprints []string) ([]snapshot.Event, error) {
	var events []snapshot.Event
	for some := range slices.Chunk(fingerprints, MaxMany) {
		found, err := take(ctx, e.collection, Query{
			Index: "artifact", Equal: []any{org, in(some)}, Descending: true, Limit: maxArtifactEvents,
		})
		if err != nil {
			return nil, err
		}
		events = append(events, plain(found)...)
	}
	return events, nil
}

// Beginning returns the fingerprints that run or ran in an organization and begin
// with hex digits. ErrAmbiguous tells that these are too many.
func (e *Events) Beginning(ctx context.Context, org, digits string) ([]string, error) {
	found, err := alike(ctx, e.collection, Query{Index: "artifact", Equal: []any{org}}, "fingerprint", digits)
	return valuesOf(found, "fingerprint"), err
}
