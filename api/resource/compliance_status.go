package resource

import (
	"attestry/evidence"
	"attestry/evidence/compliance"
)

// AttestationComplianceStatus is an attestation that is required, or there.
type AttestationComplianceStatus struct {
	AttestationName         string  `json:"attestation_name"`
	AttestationType         *string `json:"attestation_type" nullable:"true"`
	AttestationID           *string `json:"attestation_id" nullable:"true"`
	OverriddenAttestationID *string `json:"overridden_attestation_id" nullable:"true"`
	Status                  string  `json:"status" enum:"MISSING,COMPLETE"`
	IsCompliant             *bool   `json:"is_compliant" nullable:"true"`
	Unexpected              bool    `json:"unexpected"`
}

// ArtifactComplianceStatus is an artifact that is required, or there.
type ArtifactComplianceStatus struct {
	ArtifactFingerprint  *string                       `json:"artifact_fingerprint" nullable:"true"`
	ArtifactID           *string                       `json:"artifact_id" nullable:"true"`
	Status               evidence.Status               `json:"status" enum:"MISSING,INCOMPLETE,COMPLIANT,NON-COMPLIANT"`
	IsCompliant          *bool                         `json:"is_compliant" nullable:"true"`
	AttestationsStatuses []AttestationComplianceStatus `json:"attestations_statuses"`
	Unexpected           bool                          `json:"unexpected"`
	EvaluatedAt          *float64                      `json:"evaluated_at" nullable:"true"`
	FlowTemplateID       *string                       `json:"flow_template_id" nullable:"true"`
}

// ShowArtifactStatus shows an artifact of a trail that is evaluated by the template of an id.
func ShowArtifactStatus(artifact compliance.ArtifactStatus, template string) ArtifactComplianceStatus {
	shown := ArtifactComplianceStatus{
		Status:               artifact.Status,
		AttestationsStatuses: ShowAttestationStatuses(artifact.Attestations),
		Unexpected:           artifact.Unexpected,
		EvaluatedAt:          NilUnlessPositive(artifact.EvaluatedAt),
		FlowTemplateID:       NilIfEmpty(template),
	}
	if artifact.Artifact != nil {
		shown.ArtifactFingerprint, shown.ArtifactID = &artifact.Artifact.Fingerprint, &artifact.Artifact.Record
		shown.IsCompliant = new(artifact.Status == evidence.Compliant)
	}
	return shown
}

// ShowAttestationStatuses shows attestations of a trail or an artifact.
func ShowAttestationStatuses(statuses []compliance.AttestationStatus) []AttestationComplianceStatus {
	shown := make([]AttestationComplianceStatus, 0, len(statuses))
	for _, status := range statuses {
		one := AttestationComplianceStatus{
			AttestationName: status.Name, AttestationType: NilIfEmpty(status.Type),
			Status: "MISSING", Unexpected: status.Unexpected,
		}
		if entry := status.Entry; entry != nil {
			one.Status = "COMPLETE"
			one.AttestationID, one.IsCompliant = &entry.ID, &entry.Compliant
			one.OverriddenAttestationID = NilIfEmpty(entry.Overridden)
		}
		shown = append(shown, one)
	}
	return shown
}
