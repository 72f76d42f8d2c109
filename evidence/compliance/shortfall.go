package compliance

import (
	"slices"

	"attestry/evidence"
	"attestry/evidence/template"
)

// Shortfall names what keeps an artifact from being compliant in its trail: attestations of
// the artifact or the trail that are not compliant, and required ones that are missing.
func Shortfall(t *template.Template, trail *evidence.Trail, slot *evidence.Slot, artifact evidence.SlotArtifact) (failing, missing []string) {
	required, _ := t.Artifact(slot.Name)
	for _, status := range slices.Concat(
		attestations(t.Trail.Attestations, trail.Entries),
		attestations(required.Attestations, slot.Bound(artifact)),
	) {
		switch {
		case status.Entry == nil:
			missing = append(missing, status.Name)
		case !status.Entry.Compliant:
			failing = append(failing, status.Name)
		}
	}
	return failing, missing
}
