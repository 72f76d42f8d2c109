package recording

import (
	"context"

	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// Report records an artifact, and begins its flow and trail if need be. What it
// does not know of the record's place it fills in. The record gets a later time than all
// of its trail, of its fingerprint, and than all artifacts of its flow.
func (r *Recorder) Report(ctx context.Context, scope Scope, reported evidence.ArtifactRecord, repo *evidence.Repo) error {
	at := recordingTime{now: reported.CreatedAt}
	return r.changeOpened(ctx, scope, &at, func(ctx context.Context, u *trailUpdate) error {
		record, trail := reported, &u.trail.Value
		if err := trail.Admits([]string{record.Name}, ""); err != nil {
			return err
		}
		if len(u.reported) > 0 {
			return errWriteFirst
		}
		known, err := r.provenances.LookUp(ctx, record.Org, record.Fingerprint)
		if err != nil {
			return err
		}
		newest, err := r.artifacts.NewestTime(ctx, record.Org, trail.Flow)
		if err != nil {
			return err
		}
		at.last = max(known.Value.Newest(), newest)
		if record.CreatedAt, err = at.choose(ctx, u); err != nil {
			return err
		}
		record.Flow, record.Template = trail.Flow, trail.Template
		return r.applyArtifact(ctx, u, known, &record, repo)
	})
}

// applyArtifact makes the aggregates reflect a record. known is what is known of its
// fingerprint. The slot takes in the attestations, too, that were made of the record before
// the trail told that the slot has it.
func (r *Recorder) applyArtifact(ctx context.Context, u *trailUpdate, known storage.Versioned[pipelines.Provenance], record *evidence.ArtifactRecord, repo *evidence.Repo) error {
	slot, err := u.slot(ctx, record.Name)
	if err != nil {
		return err
	}
	if len(u.attested) > 0 && (slot.Value.Pruned || u.attested[record.Fingerprint]) {
		return errWriteFirst
	}
	attested, err := r.attested(ctx, slot.Value.Pruned, record)
	if err != nil {
		return err
	}
	r.artifacts.Collection.PutIn(&u.facts, *record)
	u.reported[record.Fingerprint] = true
	u.take(slot, func(s *evidence.Slot) {
		s.Report(record.SlotArtifact())
		s.Prune()
		for _, entry := range attested {
			if s.Lacks(entry, record.SlotArtifact()) {
				s.Attest(entry)
			}
		}
	})
	u.touch(record.CreatedAt, record.Repo)
	u.provenances = append(u.provenances, provenanceUpdate{record: record, seen: known})
	u.concern(record.Fingerprint)
	u.events = append(u.events, u.trail.Value.ArtifactEvent(record, repo))
	return nil
}

// attested returns the attestations of a record that its slot may lack: those of the
// fingerprint that were made for another slot, and those by name that the slot had
// to drop.
func (r *Recorder) attested(ctx context.Context, pruned bool, record *evidence.ArtifactRecord) ([]evidence.SlotEntry, error) {
	if !pruned {
		return r.attestations.OfFingerprint(ctx, record)
	}
	latest, err := r.attestations.LatestOfRecords(ctx, record.Org, []evidence.ArtifactRecord{*record})
	if err != nil {
		return nil, err
	}
	return latest.Of(record), nil
}
