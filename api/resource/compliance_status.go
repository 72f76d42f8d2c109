package resource

import (
	"attestry/evidence"
	"attestry/evidence/compliance"
)

// AttestationComplianceStatus is the status of an attestation that the template requires or that was recorded.
type AttestationComplianceStatus struct {
	AttestationName         string  `json:"attestation_name"`
	AttestationType         *string `json:"attestation_type" nullable:"true"`
	AttestationID           *string `json:"attestation_id" nullable:"true"`
	OverriddenAttestationID *string `json:"overridden_attestation_id" nullable:"true"`
	Status                  string  `json:"status" enum:"MISSING,COMPLETE"`
	IsCompliant             *bool   `json:"is_compliant" nullable:"true"`
	Unexpected              bool    `json:"unexpected"`
	ApprovalLack            string  `json:"approval_lack,omitempty" doc:"Which approvals the template asks for and the pull request lacks."`
}

// ArtifactComplianceStatus is the status of an artifact that the template requires or that was reported.
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

// ShowArtifactStatus shows an artifact of a trail. template is the id of the template that the trail is evaluated by.
func ShowArtifactStatus(artifact compliance.ArtifactStatus, template string) ArtifactComplianceStatus {
	shown := ArtifactComplianceStatus{
		Status: artifact.Status, AttestationsStatuses: ShowAttestationStatuses(artifact.Attestations), Unexpected: artifact.Unexpected,
		EvaluatedAt: NilIfEmpty(artifact.EvaluatedAt), FlowTemplateID: NilIfEmpty(template),
	}
	if artifact.Artifact != nil {
		shown.ArtifactFingerprint, shown.ArtifactID = &artifact.Artifact.Fingerprint, &artifact.Artifact.Record
		shown.IsCompliant = new(artifact.Status == evidence.Compliant)
	}
	return shown
}

// ShowAttestationStatuses shows attestations of a trail or an artifact.
func ShowAttestationStatuses(statuses []compliance.AttestationStatus) []AttestationComplianceStatus {
	return Map(statuses, func(status *compliance.AttestationStatus) AttestationComplianceStatus {
		shown := AttestationComplianceStatus{
			AttestationName: status.Name, AttestationType: NilIfEmpty(status.Type), Status: "MISSING", Unexpected: status.Unexpected,
		}
		if entry := status.Entry; entry != nil {
			shown.Status, shown.AttestationID, shown.IsCompliant = "COMPLETE", &entry.ID, &entry.Compliant
			shown.ApprovalLack, shown.OverriddenAttestationID = status.Lack, NilIfEmpty(entry.Overridden)
		}
		return shown
	})
}

// GitCommitInfo is a commit in answers about trails and attestations. Clients require author, message and timestamp, so
// unknown members are empty, not left out (docs/semantics.md 16.3).
type GitCommitInfo struct {
	SHA1      string  `json:"sha1"`
	Message   string  `json:"message"`
	Author    string  `json:"author"`
	Branch    string  `json:"branch"`
	Timestamp float64 `json:"timestamp"`
	URL       *string `json:"url" nullable:"true"`
}

// NewGitCommitInfo shows a commit. It returns nil for nil.
func NewGitCommitInfo(commit *evidence.GitCommit) *GitCommitInfo {
	if commit == nil {
		return nil
	}
	return &GitCommitInfo{
		SHA1: commit.SHA1, Message: evidence.ZeroIfNil(commit.Message), Author: evidence.ZeroIfNil(commit.Author),
		Branch: evidence.ZeroIfNil(commit.Branch), Timestamp: evidence.ZeroIfNil(commit.Timestamp), URL: commit.URL,
	}
}
