package storage

import (
	"context"

	"attestry/evidence"
)

var provenanceSchema = &Schema{Name: "provenance"}

// Provenance tells where an organization knows a fingerprint from.
type Provenance struct {
	Org         string `json:"org"`
	Fingerprint string `json:"fingerprint"`
	// Flows holds the newest record of each flow, by the flow's id.
	Flows map[string]Origin `json:"flows"`
}

// Origin is the newest record of a fingerprint in a flow.
type Origin struct {
	Trail  string  `json:"trail"`  // key
	Slot   string  `json:"slot"`   // artifact name in the trail
	Record string  `json:"record"` // id
	Commit string  `json:"commit,omitempty"`
	Time   float64 `json:"time"`
}

func (o Origin) later(other Origin) bool {
	if o.Time != other.Time {
		return o.Time > other.Time
	}
	return o.Record > other.Record
}

// Provenances keeps the provenance of fingerprints.
type Provenances struct {
	collection *Collection[Provenance]
}

func newProvenances(docs Documents) *Provenances {
	return &Provenances{collection: NewCollection(docs, provenanceSchema,
		func(p *Provenance) string { return provenanceID(p.Org, p.Fingerprint) }, nil)}
}

func provenanceID(org, fingerprint string) string { return org + "/" + fingerprint }

// Add notes a record, if it is the newest of its flow.
func (p *Provenances) Add(ctx context.Context, record *evidence.ArtifactRecord) error {
	origin := Origin{
		Trail: evidence.TrailKey(record.Flow, record.Trail), Slot: record.Name,
		Record: record.ID, Commit: record.CommitSHA, Time: record.CreatedAt,
	}
	_, err := upsert(ctx, p.collection, provenanceID(record.Org, record.Fingerprint),
		func() Provenance {
			return Provenance{Org: record.Org, Fingerprint: record.Fingerprint, Flows: map[string]Origin{}}
		},
		func(known *Provenance) error {
			if origin.later(known.Flows[record.Flow]) {
				known.Flows[record.Flow] = origin
			}
			return nil
		})
	return err
}

// GetMany returns what is known of fingerprints; unknown ones are left out.
func (p *Provenances) GetMany(ctx context.Context, org string, fingerprints []string) ([]Provenance, error) {
	ids := make([]string, 0, len(fingerprints))
	for _, fingerprint := range fingerprints {
		ids = append(ids, provenanceID(org, fingerprint))
	}
	return p.collection.GetMany(ctx, ids)
}
