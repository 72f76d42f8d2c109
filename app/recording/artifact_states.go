package recording

import (
	"context"

	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// StateQuery asks for the state of a fingerprint in the trail of one of its records.
type StateQuery struct {
	Fingerprint string
	Trail       string // key
	Slot        string // artifact name in the trail
	Record      string // id
}

// StateQueryOf asks for the state of a fingerprint where an origin knows it from.
func StateQueryOf(fingerprint string, origin *evidence.Origin) StateQuery {
	return StateQuery{Fingerprint: fingerprint, Trail: origin.TrailKey(), Slot: origin.Slot, Record: origin.Record}
}

func (s *StateQuery) slotID() string { return evidence.SlotID(s.Trail, s.Slot) }

// ArtifactStates judges artifacts in their trails by what is known now: one command per
// MaxMany trails and templates, and as many for the slots of those that are not the
// newest of their name. Artifacts that their slots had to drop take one more for their
// records, and those of Rebuild.
func (r *Recorder) ArtifactStates(ctx context.Context, org string, asked []StateQuery) (map[StateQuery]evidence.Status, error) {
	var keys []string
	for _, one := range asked {
		keys = append(keys, one.Trail)
	}
	found, err := r.trails.GetMany(ctx, storage.Distinct(keys))
	if err != nil {
		return nil, err
	}
	trails := make(map[string]evidence.Trail, len(found))
	var templates []string
	for _, trail := range found {
		trails[trail.Key()] = trail
		templates = append(templates, trail.Template)
	}
	known, err := r.templates.GetMany(ctx, org, storage.Distinct(templates))
	if err != nil {
		return nil, err
	}
	standings := make(map[StateQuery]evidence.Status, len(asked))
	var displaced []StateQuery
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
	return standings, r.judgeDisplaced(ctx, org, displaced, trails, known, standings)
}

// judgeDisplaced judges artifacts that are not the newest of their name.
func (r *Recorder) judgeDisplaced(ctx context.Context, org string, asked []StateQuery, trails map[string]evidence.Trail, templates map[string]pipelines.StoredTemplate, standings map[StateQuery]evidence.Status) error {
	var ids []string
	for _, one := range asked {
		ids = append(ids, one.slotID())
	}
	found, err := r.slots.GetMany(ctx, storage.Distinct(ids))
	if err != nil {
		return err
	}
	slots := make(map[string]evidence.Slot, len(found))
	for _, slot := range found {
		slots[slot.ID()] = slot
	}
	var dropped []string
	for _, one := range asked {
		if slot := slots[one.slotID()]; !one.knownTo(&slot) {
			dropped = append(dropped, one.Record)
		}
	}
	rebuilt, err := r.rebuildByID(ctx, org, storage.Distinct(dropped))
	if err != nil {
		return err
	}
	for _, one := range asked {
		slot, trail := slots[one.slotID()], trails[one.Trail]
		if !one.knownTo(&slot) {
			slot = rebuilt[one.Record]
			slot.Name = one.Slot
		}
		artifact, _ := slot.Artifact(one.Fingerprint)
		template := templates[trail.Template].Template
		standings[one] = compliance.Artifact(&template, &trail, &slot, artifact)
	}
	return nil
}

// knownTo tells whether a slot knows all of the artifact that is asked for.
func (s *StateQuery) knownTo(slot *evidence.Slot) bool {
	_, held := slot.Artifact(s.Fingerprint)
	return held && !slot.Pruned
}

// rebuildByID makes the slots of records anew, by the records' ids.
func (r *Recorder) rebuildByID(ctx context.Context, org string, ids []string) (map[string]evidence.Slot, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	records, err := r.artifacts.GetMany(ctx, ids)
	if err != nil {
		return nil, err
	}
	return r.Rebuild(ctx, org, records)
}
