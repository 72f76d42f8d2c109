package compliance

import (
	"slices"

	"attestry/evidence"
	"attestry/evidence/policy"
	"attestry/evidence/template"
)

// Flow is what policies evaluate of an artifact in a trail, but for the name and the tags of the flow. status is the
// state of the artifact there.
func Flow(t *template.Template, trail *evidence.Trail, slot *evidence.Slot, artifact evidence.SlotArtifact, status evidence.Status) policy.Flow {
	known := policy.Flow{
		Trail: trail.Name, Author: trail.Author(), Status: status,
		Attestations: slices.Concat(trail.Entries, slot.Bound(artifact)),
	}
	if status != evidence.Compliant {
		known.Shortfall = policy.NewShortfall(Shortfall(t, trail, slot, artifact))
	}
	return known
}
