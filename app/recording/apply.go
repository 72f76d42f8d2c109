package recording

import (
	"slices"

	"attestry/evidence"
	"attestry/evidence/attestation"
	"attestry/evidence/compliance"
	"attestry/storage/pipelines"
)

// recordingTime chooses the time of a fact. If the fact may be stored, a retry keeps its time unless newer facts exist.
type recordingTime struct {
	// now is the time by the clock of this process, in Unix seconds.
	now float64
	// begun means that the trail was begun for the fact, which may then have the trail's time.
	begun  bool
	chosen float64
}

// choose returns a time in Unix seconds that is later than the bounds and than everything in the trail.
func (t *recordingTime) choose(u *trailUpdate, bounds timeBounds) float64 {
	if u.repeated && t.chosen != 0 && (t.chosen >= bounds.superseded || t.chosen == bounds.kept) {
		return t.chosen
	}
	newest := u.trail.Value.LastModifiedAt
	if t.begun && u.trail.Value.LastModifiedAt == u.trail.Value.CreatedAt {
		newest = u.trail.Value.CreatedAt - microsecond
	}
	t.chosen = evidence.TimeAfter(max(newest, bounds.superseded, bounds.reconciled), t.now)
	return t.chosen
}

// applyAttestation applies an attestation to the trail, its slots and the latest decisions. It also writes an
// attestation that is stored already, since its leaf in the transparency log may be missing.
func (u *trailUpdate) applyAttestation(in attestationInput, a *evidence.Attestation, repo *evidence.Repo) {
	attestation.Review(a, in.accounts, evidence.CommitSHA(u.trail.Value.Commit))
	u.recorder.Attestations.Collection.PutIn(&u.facts, *a)
	u.attested[a.Fingerprint] = true
	for _, slot := range in.slots {
		u.updateSlot(slot, func(s *evidence.Slot) { s.Attest(a.SlotEntry()) })
	}
	for _, decision := range pipelines.DecisionsOf(a) {
		if latest := u.decisions[decision.Key()]; latest.Revision == 0 && !latest.changed || decision.LaterThan(&latest.Value) {
			latest.Value, latest.changed = decision, true
		}
	}
	trail := &u.trail.Value
	if a.OfTrail() {
		trail.Entries = evidence.AddEntry(trail.Entries, a.Entry())
		trail.EntriesAt = max(trail.EntriesAt, a.CreatedAt)
	}
	trail.AddRepo(a.Repo)
	trail.Touch(a.CreatedAt)
	u.concernAttested(in.slots, a)
	events := trail.AttestationEvents(a, repo)
	u.events = append(append(u.events, events[1:]...), events[0])
}

// applyArtifact applies an artifact to the trail, its slot and the provenance. It also writes an artifact that is
// stored already. The slot also gets the attestations that were made before the trail had the artifact under this name.
func (u *trailUpdate) applyArtifact(in artifactInput, record *evidence.ArtifactRecord, repo *evidence.Repo) {
	u.recorder.Artifacts.Collection.PutIn(&u.facts, *record)
	u.reported[record.Fingerprint] = true
	u.updateSlot(in.slot, func(s *evidence.Slot) {
		s.Report(record.SlotArtifact())
		s.Prune()
		for _, entry := range in.attested {
			if s.Lacks(entry, record.SlotArtifact()) {
				s.Attest(entry)
			}
		}
	})
	u.trail.Value.AddRepo(record.Repo)
	u.trail.Value.Touch(record.CreatedAt)
	u.provenances = append(u.provenances, provenanceUpdate{record: record, seen: in.provenance})
	u.concern(record.Fingerprint)
	u.children[record.Fingerprint] = slices.Concat(in.provenance.Value.Children, record.ChildFingerprints)
	u.givesChildren = u.givesChildren || len(record.ChildFingerprints) > 0
	u.events = append(u.events, u.trail.Value.ArtifactEvent(record, repo))
}

// updateSlot changes a slot and its summary in the trail, unless the slot reflects the change already.
func (u *trailUpdate) updateSlot(slot *slotUpdate, change func(*evidence.Slot)) {
	before := slot.Value
	before.Artifacts, before.Entries = slices.Clone(before.Artifacts), slices.Clone(before.Entries)
	change(&slot.Value)
	slot.Value.Prune()
	if slot.Value.Version == 0 || !slot.Value.Equal(&before) {
		slot.Value.Version++
		slot.changed = true
	}
	u.trail.Value.Summarize(slot.Value.Name, compliance.Summarize(u.template.ID, &u.template.Template, u.trail.Value.Author(), &slot.Value))
}

// concern adds fingerprints of artifacts whose state may change.
func (u *trailUpdate) concern(fingerprints ...string) {
	for _, fingerprint := range fingerprints {
		u.concerned[fingerprint] = true
	}
}

// concernAttested adds the artifacts whose state an attestation may change. If these may include older artifacts whose
// fingerprints the trail or the slot does not keep, it sets concernsAll.
func (u *trailUpdate) concernAttested(slots []*slotUpdate, a *evidence.Attestation) {
	switch {
	case a.OfTrail():
		u.concernsAll = u.concernsAll || u.trail.Value.HasOlderArtifacts()
		u.concern(u.trail.Value.Fingerprints()...)
		return
	case a.Fingerprint != "":
		u.concern(a.Fingerprint)
		return
	}
	for _, slot := range slots {
		u.concernsAll = u.concernsAll || slot.Value.Pruned
		u.concern(slot.Value.BoundFingerprints(a.SlotEntry())...)
	}
}
