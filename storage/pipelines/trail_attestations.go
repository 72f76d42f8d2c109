package pipelines

import (
	"context"
	"strings"

	"attestry/evidence"
	"attestry/storage"
)

// TrailAttestation is what is needed of an attestation to evaluate its trail.
type TrailAttestation struct {
	evidence.SlotEntry
	Trail string // key
	// Targets are the names of the artifacts of an attestation made by name. Without them and a fingerprint, an
	// attestation is about the trail itself.
	Targets []string
	// Control is the identifier of the control that a decision decides, "" of others.
	Control string
}

// Subjects returns what the attestation is about.
func (t *TrailAttestation) Subjects() []evidence.Subject {
	return evidence.SubjectsOf(t.Trail, t.Fingerprint, t.Targets, t.Commit)
}

// OfTrails returns all attestations of trails, by their keys: one command per MaxMany.
func (a *Attestations) OfTrails(ctx context.Context, org string, trails []string) ([]TrailAttestation, error) {
	var all []TrailAttestation
	query := storage.Query{Index: "trail_name", Equal: []any{org, storage.OneOrSet(trails)}, Limit: storage.MaxMany}
	err := a.eachFields(ctx, query, func(found *storage.Record) {
		all = append(all, TrailAttestation{
			SlotEntry: slotEntryOf(found), Trail: found.Text("trail"), Targets: strings.Fields(found.Text("targets")), Control: found.Text("control"),
		})
	})
	return all, err
}

// OfIDs reads attestations by id, in the order of ids.
func (a *Attestations) OfIDs(ids []string) *storage.Batches[evidence.Attestation] {
	return storage.BatchesByID(a.Collection, ids)
}
