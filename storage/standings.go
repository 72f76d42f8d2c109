package storage

import (
	"context"

	"attestry/evidence"
	"attestry/evidence/compliance"
)

// Standing asks for the state of a fingerprint in the trail of one of its records.
type Standing struct {
	Fingerprint string
	Trail       string // key
	Slot        string // artifact name in the trail
	Record      string // id
}

// StandingOf asks for the state of a fingerprint where an origin knows it from.
func StandingOf(fingerprint string, origin *evidence.Origin) Standing {
	return Standing{Fingerprint: fingerprint, Trail: origin.TrailKey(), Slot: origin.Slot, Record: origin.Record}
}

func (s *Standing) slotID() string { return evidence.SlotID(s.Trail, s.Slot) }

// Standings judges artifacts in their trails by what is known now: one command per
// MaxMany trails and templates, and as many for the slots of those that are not the
// newest of their name. An artifact that its slot had to drop takes a few more.
func (s *Store) Standings(ctx context.Context, org string, asked []Standing) (map[Standing]evidence.Status, error) {
	var keys []string
	for _, one := range asked {
		keys = append(keys, one.Trail)
	}
	found, err := s.Trails.GetMany(ctx, distinct(keys))
	if err != nil {
		return nil, err
	}
	trails := make(map[string]evidence.Trail, len(found))
	var templates []string
	for _, trail := range found {
		trails[trail.Key()] = trail
		templates = append(templates, trail.Template)
	}
	known, err := s.Templates.GetMany(ctx, org, distinct(templates))
	if err != nil {
		return nil, err
	}
	standings := make(map[Standing]evidence.Status, len(asked))
	var displaced []Standing
	for _, one := range asked {
		trail := trails[one.Trail]
		summary := trail.Slots[one.Slot]
		if summary.Fingerprint != one.Fingerprint || summary.Template != trail.Template {
			displaced = append(displaced, one)
			continue
		}
		template := known[trail.Template].Template
		standings[one] = compliance.Current(&template, &trail, summary)
	}
	return standings, s.displaced(ctx, displaced, trails, known, standings)
}

// displaced judges artifacts that are not the newest of their name.
func (s *Store) displaced(ctx context.Context, asked []Standing, trails map[string]evidence.Trail, templates map[string]StoredTemplate, standings map[Standing]evidence.Status) error {
	var ids []string
	for _, one := range asked {
		ids = append(ids, one.slotID())
	}
	found, err := s.Slots.GetMany(ctx, distinct(ids))
	if err != nil {
		return err
	}
	slots := make(map[string]evidence.Slot, len(found))
	for _, slot := range found {
		slots[slot.ID()] = slot
	}
	for _, one := range asked {
		slot, trail := slots[one.slotID()], trails[one.Trail]
		artifact, held := slot.Artifact(one.Fingerprint)
		if !held || slot.Pruned {
			if slot, err = s.rebuilt(ctx, one); err != nil {
				return err
			}
			artifact, _ = slot.Artifact(one.Fingerprint)
		}
		template := templates[trail.Template].Template
		standings[one] = compliance.Artifact(&template, &trail, &slot, artifact)
	}
	return nil
}

// rebuilt makes a slot anew that does not know all of an artifact any more.
func (s *Store) rebuilt(ctx context.Context, one Standing) (evidence.Slot, error) {
	records, err := s.Artifacts.GetMany(ctx, []string{one.Record})
	if err != nil || len(records) == 0 {
		return evidence.Slot{Trail: one.Trail, Name: one.Slot}, err
	}
	return s.Recorder.Rebuild(ctx, records[0])
}

// distinct leaves out repetitions, in no certain order.
func distinct(texts []string) []string {
	seen := make(map[string]bool, len(texts))
	var kept []string
	for _, text := range texts {
		if !seen[text] {
			seen[text] = true
			kept = append(kept, text)
		}
	}
	return kept
}
