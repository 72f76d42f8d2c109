package recording

import (
	"context"
	"slices"

	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// Report records an artifact, and begins its flow and trail if need be. What it
// does not know of the record's place it fills in. The record gets a later time than all
// of its trail, of its fingerprint, and than all artifacts of its flow.
func (r *Recorder) Report(ctx context.Context, scope Scope, record evidence.ArtifactRecord, repo *evidence.Repo) error {
	flow, err := r.flow(ctx, scope)
	if err != nil {
		return err
	}
	seen, last, err := r.open(ctx, scope, flow)
	if err != nil {
		return err
	}
	if err := seen.Value.Admits([]string{record.Name}, ""); err != nil {
		return err
	}
	known, err := r.provenances.LookUp(ctx, record.Org, record.Fingerprint)
	if err != nil {
		return err
	}
	reported, err := r.artifacts.NewestTime(ctx, record.Org, flow)
	if err != nil {
		return err
	}
	record.CreatedAt, err = r.timeAfter(ctx, record.Org, max(last, known.Value.Newest(), reported), record.CreatedAt)
	if err != nil {
		return err
	}
	record.Flow, record.Template = flow, seen.Value.Template
	if err := r.artifacts.Collection.Insert(ctx, record); err != nil {
		return err
	}
	return r.applyArtifact(ctx, seen, known, &record, repo)
}

// applyArtifact makes the aggregates reflect a stored record. known is what was known of
// its fingerprint a moment ago.
func (r *Recorder) applyArtifact(ctx context.Context, seen storage.Versioned[evidence.Trail], known storage.Versioned[pipelines.Provenance], record *evidence.ArtifactRecord, repo *evidence.Repo) error {
	_, named := seen.Value.Slots[record.Name]
	slot, err := r.slots.Change(ctx, record.Org, seen.Value.Key(), record.Name, named, func(slot *evidence.Slot) {
		slot.Report(record.SlotArtifact())
	})
	if err != nil {
		return err
	}
	if err := r.reflectArtifact(ctx, seen, record, slot); err != nil {
		return err
	}
	if err := r.fill(ctx, slot, record); err != nil {
		return err
	}
	if err := r.provenances.Add(ctx, record, known); err != nil {
		return err
	}
	if err := r.bumpIfRunning(ctx, record.Org, []string{record.Fingerprint}); err != nil {
		return err
	}
	return r.events.Add(ctx, seen.Value.ArtifactEvent(record, repo))
}

func (r *Recorder) reflectArtifact(ctx context.Context, seen storage.Versioned[evidence.Trail], record *evidence.ArtifactRecord, slot evidence.Slot) error {
	_, err := r.reflect(ctx, seen, record.CreatedAt, record.Repo, []evidence.Slot{slot}, func(*evidence.Trail) error { return nil })
	return err
}

// fill lets a slot take in the attestations that were made of a record before the
// trail told that the slot has it. It looks after the trail was written, as
// attestations look at the trail after they were stored: one of the two sees the
// other.
func (r *Recorder) fill(ctx context.Context, slot evidence.Slot, record *evidence.ArtifactRecord) error {
	missing, err := r.missing(ctx, slot, record)
	if err != nil || len(missing) == 0 {
		return err
	}
	slot, err = r.slots.Change(ctx, slot.Org, slot.Trail, slot.Name, true, func(slot *evidence.Slot) {
		for _, entry := range missing {
			slot.Attest(entry)
		}
	})
	if err != nil {
		return err
	}
	seen, err := r.trails.Collection.GetVersioned(ctx, slot.Trail)
	if err != nil {
		return err
	}
	return r.reflectArtifact(ctx, seen, record, slot)
}

// missing returns the attestations of a record that its slot lacks: those of the
// fingerprint that were made for another slot, and those by name that the slot had
// to drop.
func (r *Recorder) missing(ctx context.Context, slot evidence.Slot, record *evidence.ArtifactRecord) ([]evidence.SlotEntry, error) {
	var attested []evidence.SlotEntry
	if slot.Pruned {
		latest, err := r.attestations.LatestOfRecords(ctx, record.Org, []evidence.ArtifactRecord{*record})
		if err != nil {
			return nil, err
		}
		attested = latest.Of(record)
	} else {
		var err error
		if attested, err = r.attestations.OfFingerprint(ctx, record); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(attested, func(entry evidence.SlotEntry) bool {
		return !slot.Lacks(entry, record.SlotArtifact())
	}), nil
}
