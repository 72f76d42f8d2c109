package audit

import (
	"encoding/json"

	"attestry/evidence"
	"attestry/evidence/approval"
)

// EventDocument is something that happened to a trail, in the member at EventsPath.
type EventDocument struct {
	TrailID string `json:"trail_id"`
	evidence.TrailEvent
	Summary string `json:"summary"`
}

// UnmarshalJSON decodes all members. The promoted method of the embedded event would skip TrailID and Summary.
func (d *EventDocument) UnmarshalJSON(text []byte) error {
	var own struct {
		TrailID string `json:"trail_id"`
		Summary string `json:"summary"`
	}
	if err := json.Unmarshal(text, &own); err != nil {
		return err
	}
	d.TrailID, d.Summary = own.TrailID, own.Summary
	return json.Unmarshal(text, &d.TrailEvent)
}

// checkEvents reports facts that an event refers to and that the package does not have, or approvals that it has
// differently.
func (v *Verifier) checkEvents() {
	for i := range v.events {
		event := &v.events[i]
		trail := v.trails[event.TrailID]
		if trail == nil {
			v.report(EventsPath, "event %s is of a trail that the package does not have", event.ID)
			continue
		}
		switch data := event.Data.(type) {
		case *evidence.ArtifactReportData:
			if _, reported := v.log.shown["artifact/"+data.Record]; !reported && v.covers(data.Fingerprint) {
				v.report(ArtifactPath(data.Fingerprint), "it lacks report %s, which event %s tells of", data.Record, event.ID)
			}
		case *evidence.AttestationReportData:
			path := AttestationPath(data.Attestation)
			aboutTrail := event.Type == evidence.TrailAttestation
			if !v.known[path] && (aboutTrail || v.covers(data.Fingerprint)) {
				v.report(path, "it is missing, though event %s tells of it", event.ID)
			}
		case *evidence.ApprovalData:
			if v.covers(data.Fingerprint) && v.approvals[approval.Key(trail.Flow.ID, data.Number)] != *data {
				v.report(ApprovalsPath, "it lacks release %d as event %s tells of it", data.Number, event.ID)
			}
		}
	}
}

// covers reports whether the package must have all facts about an artifact. A package of an artifact has those of its
// own fingerprint. It may lack attestations that were made by name.
func (v *Verifier) covers(fingerprint string) bool {
	subject := &v.manifest.Subject
	return subject.Kind == OfTrail || subject.Kind == OfArtifact && subject.Fingerprint == fingerprint
}
