package pipelines

import (
	"context"
	"slices"
	"strings"

	"attestry/evidence"
	"attestry/storage"
)

// Attested holds the attestations of artifacts in the trails of their records, by subject, in the order of time.
// Records of one name share those made by name.
type Attested map[evidence.Subject][]evidence.SlotEntry

// Of returns the attestations of a record, by fingerprint and by name, in the order of time.
func (a Attested) Of(record *evidence.ArtifactRecord) []evidence.SlotEntry {
	entries := slices.Concat(evidence.Map(record.Subjects(), func(of evidence.Subject) []evidence.SlotEntry { return a[of] })...)
	slices.SortFunc(entries, func(x, y evidence.SlotEntry) int { return evidence.CompareEntries(x.Entry, y.Entry) })
	return entries
}

// Slots rebuilds the slots of records, by the records' ids, for artifacts that their slots had to drop.
func (a Attested) Slots(records []evidence.ArtifactRecord) map[string]evidence.Slot {
	return evidence.ToMap(records, func(record *evidence.ArtifactRecord) (string, evidence.Slot) {
		return record.ID, evidence.RebuildSlot(record, a.Of(record))
	})
}

// OfRecords returns the attestations of records in their trails, superseded ones too. It takes one command for MaxMany
// attestations, and one more for those without a fingerprint if there are several trails.
func (a *Attestations) OfRecords(ctx context.Context, org string, records []evidence.ArtifactRecord) (Attested, error) {
	attested := Attested{}
	err := a.eachOf(ctx, org, records, func(of evidence.Subject, entry evidence.SlotEntry) {
		attested[of] = append(attested[of], entry)
	})
	return attested, err
}

// LatestOfRecords is OfRecords without superseded ones.
func (a *Attestations) LatestOfRecords(ctx context.Context, org string, records []evidence.ArtifactRecord) (Attested, error) {
	type named struct {
		of   evidence.Subject
		name string
	}
	attested, positions := Attested{}, map[named]int{}
	err := a.eachOf(ctx, org, records, func(of evidence.Subject, entry evidence.SlotEntry) {
		key := named{of, entry.Name}
		if position, ok := positions[key]; ok {
			attested[of][position] = entry // later, as those of a subject come in the order of time
			return
		}
		positions[key] = len(attested[of])
		attested[of] = append(attested[of], entry)
	})
	return attested, err
}

// RebuildSlots rebuilds the slots of records, by the records' ids, with the commands of LatestOfRecords.
func (a *Attestations) RebuildSlots(ctx context.Context, org string, records []evidence.ArtifactRecord) (map[string]evidence.Slot, error) {
	latest, err := a.LatestOfRecords(ctx, org, records)
	return latest.Slots(records), err
}

// eachOf calls yield for every attestation of records in their trails, once for each subject; those of one subject come
// in the order of time.
func (a *Attestations) eachOf(ctx context.Context, org string, records []evidence.ArtifactRecord, yield func(evidence.Subject, evidence.SlotEntry)) error {
	wanted := map[evidence.Subject]bool{}
	var trails, fingerprints []string
	for i := range records {
		for _, of := range records[i].Subjects() {
			wanted[of] = true
		}
		trails = append(trails, evidence.TrailKey(records[i].Flow, records[i].Trail))
		fingerprints = append(fingerprints, records[i].Fingerprint)
	}
	trails, fingerprints = evidence.Distinct(trails), evidence.Distinct(fingerprints)
	// Attestations made by name have no fingerprint. If there are several trails, inTrails expects that set alone.
	sets := slices.Collect(slices.Chunk(append(fingerprints, ""), storage.MaxMany))
	if len(trails) > 1 {
		sets = append(slices.Collect(slices.Chunk(fingerprints, storage.MaxMany)), []string{""})
	}
	for some := range slices.Chunk(trails, storage.MaxMany) {
		for _, set := range sets {
			err := storage.ForEachFields(ctx, a.Collection, inTrails(org, some, set), func(found *storage.Record) error {
				entry := slotEntryOf(found)
				for _, of := range subjectsIn(found) {
					if wanted[of] {
						yield(of, entry)
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// inTrails is a query for the attestations in trails that have one of the fingerprints. A query takes two sets of
// MaxMany values at most, and only one of them in the index.
func inTrails(org string, trails, fingerprints []string) storage.Query {
	query := storage.Query{Index: "fingerprint_trail", Equal: []any{org, storage.OneOrSet(fingerprints)}, Limit: storage.MaxMany}
	if len(trails) == 1 || len(fingerprints) == 1 {
		query.Equal = append(query.Equal, storage.OneOrSet(trails))
	} else {
		query.Where = []storage.Condition{{Field: "trail", Operator: storage.OneOf, Value: storage.TextSet(trails)}}
	}
	return query
}

// OfFingerprint returns the attestations of a record by its fingerprint in its trail, in the order of time.
func (a *Attestations) OfFingerprint(ctx context.Context, record *evidence.ArtifactRecord) ([]evidence.SlotEntry, error) {
	var entries []evidence.SlotEntry
	query := inTrails(record.Org, []string{evidence.TrailKey(record.Flow, record.Trail)}, []string{record.Fingerprint})
	err := storage.ForEachFields(ctx, a.Collection, query, func(found *storage.Record) error {
		entries = append(entries, slotEntryOf(found))
		return nil
	})
	return entries, err
}

func slotEntryOf(found *storage.Record) evidence.SlotEntry {
	entry := evidence.SlotEntry{Entry: evidence.Entry{ID: found.ID}}
	entry.Name, entry.Type, entry.Time = found.Text("name"), found.Text("type"), found.Float("time")
	entry.Compliant, _ = found.Fields["compliant"].(bool)
	entry.Overridden, entry.Override = found.Fields["overridden"].(string)
	entry.Finding, entry.Unapproved, entry.Involved = found.Text("finding"), found.Text("unapproved"), found.Text("involved")
	approvers, _ := found.Fields["approvers"].(int64)
	entry.Approvers = int(approvers)
	entry.Fingerprint, entry.Commit = found.Text("fingerprint"), found.Text("bound_commit")
	return entry
}

func subjectsIn(found *storage.Record) []evidence.Subject {
	return evidence.SubjectsOf(found.Text("trail"), found.Text("fingerprint"), strings.Fields(found.Text("targets")), found.Text("bound_commit"))
}
