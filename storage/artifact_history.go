package storage

import (
	"context"
	"slices"
	"strings"

	"attestry/evidence"
	"attestry/evidence/snapshot"
)

// OfRecords returns what was attested of artifacts in the trails of their records, by the
// records' ids: by fingerprint and by name, also what was superseded, in the order of
// time. Only fields are read, and those of each trail once: one command for MaxMany
// attestations.
func (a *Attestations) OfRecords(ctx context.Context, org string, records []evidence.ArtifactRecord) (map[string][]evidence.SlotEntry, error) {
	attested := make(map[string][]evidence.SlotEntry, len(records))
	// One value of each set is left for the attestations without a fingerprint.
	for some := range slices.Chunk(records, MaxMany-1) {
		if err := a.collect(ctx, org, some, attested); err != nil {
			return nil, err
		}
	}
	for _, entries := range attested {
		slices.SortFunc(entries, func(x, y evidence.SlotEntry) int { return evidence.CompareEntries(x.Entry, y.Entry) })
	}
	return attested, nil
}

// subject is what an attestation in a trail is made of: a fingerprint, or the name of an
// artifact.
type subject struct{ trail, fingerprint, name string }

// collect is OfRecords for as many records as one query takes, without the order.
func (a *Attestations) collect(ctx context.Context, org string, records []evidence.ArtifactRecord, attested map[string][]evidence.SlotEntry) error {
	reported := map[subject][]*evidence.ArtifactRecord{}
	var trails []string
	fingerprints := []string{""}
	for i := range records {
		record := &records[i]
		trail := evidence.TrailKey(record.Flow, record.Trail)
		trails, fingerprints = append(trails, trail), append(fingerprints, record.Fingerprint)
		for _, key := range []subject{{trail: trail, fingerprint: record.Fingerprint}, {trail: trail, name: record.Name}} {
			reported[key] = append(reported[key], record)
		}
	}
	query := Query{
		Index: "trail_name", Equal: []any{org, oneOrIn(distinct(trails))}, Limit: MaxMany,
		Where: []Condition{{Field: "fingerprint", Operator: OneOf, Value: in(distinct(fingerprints))}},
	}
	return eachFields(ctx, a.collection, query, func(found Record) {
		entry := slotEntryOf(found)
		for _, key := range subjectsOf(found) {
			for _, record := range reported[key] {
				if entry.Binds(record.SlotArtifact()) {
					attested[record.ID] = append(attested[record.ID], entry)
				}
			}
		}
	})
}

// OfFingerprint returns what was attested of a record by its fingerprint in its trail, in
// no certain order. Only fields are read.
func (a *Attestations) OfFingerprint(ctx context.Context, record *evidence.ArtifactRecord) ([]evidence.SlotEntry, error) {
	var entries []evidence.SlotEntry
	err := eachFields(ctx, a.collection, Query{
		Index: "flow_fingerprint", Equal: []any{record.Org, record.Flow, record.Fingerprint}, Limit: MaxMany,
		Where: []Condition{{Field: "trail", Operator: Equals, Value: evidence.TrailKey(record.Flow, record.Trail)}},
	}, func(found Record) { entries = append(entries, slotEntryOf(found)) })
	return entries, err
}

// slotEntryOf is what a slot keeps of an attestation, read from its fields.
func slotEntryOf(found Record) evidence.SlotEntry {
	entry := evidence.SlotEntry{Entry: evidence.Entry{ID: found.ID}}
	entry.Name, _ = found.Fields["name"].(string)
	entry.Type, _ = found.Fields["type"].(string)
	entry.Time, _ = found.Fields["time"].(float64)
	entry.Compliant, _ = found.Fields["compliant"].(bool)
	entry.Overridden, entry.Override = found.Fields["overridden"].(string)
	entry.Fingerprint, _ = found.Fields["fingerprint"].(string)
	entry.Commit, _ = found.Fields["bound_commit"].(string)
	return entry
}

// subjectsOf are what an attestation was made of, read from its fields; none if of the
// trail itself.
func subjectsOf(found Record) []subject {
	trail, _ := found.Fields["trail"].(string)
	if fingerprint, _ := found.Fields["fingerprint"].(string); fingerprint != "" {
		return []subject{{trail: trail, fingerprint: fingerprint}}
	}
	targets, _ := found.Fields["targets"].(string)
	var subjects []subject
	for _, target := range strings.Fields(targets) {
		subjects = append(subjects, subject{trail: trail, name: target})
	}
	return subjects
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
