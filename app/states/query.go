package states

import (
	"attestry/evidence"
	"attestry/storage"
)

// Query asks for the state of a fingerprint in the trail of one of its records.
type Query struct {
	Fingerprint string
	Trail       string // key
	Slot        string // artifact name in the trail
	Record      string // id
}

// QueryOf asks for the state of a fingerprint where an origin knows it from.
func QueryOf(fingerprint string, origin *evidence.Origin) Query {
	return Query{Fingerprint: origin.Fingerprint(fingerprint), Trail: origin.TrailKey(), Slot: origin.Slot, Record: origin.Record}
}

func queriesOf(records []evidence.ArtifactRecord) []Query {
	return storage.Map(records, func(record evidence.ArtifactRecord) Query {
		return Query{Fingerprint: record.Fingerprint, Trail: evidence.TrailKey(record.Flow, record.Trail), Slot: record.Name, Record: record.ID}
	})
}

func (q Query) slotID() string { return evidence.SlotID(q.Trail, q.Slot) }
