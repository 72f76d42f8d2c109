package audit

import (
	"encoding/json"
	"slices"

	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/evidence/control"
)

// TrailDocument is a trail: the member at TrailPath or TrailOf.
type TrailDocument struct {
	SchemaVersion int                             `json:"schema_version"`
	Organization  string                          `json:"organization"`
	Flow          FlowDocument                    `json:"flow"`
	ID            string                          `json:"id"`
	Name          string                          `json:"name"`
	Description   string                          `json:"description"`
	Commit        *evidence.GitCommit             `json:"git_commit_info"`
	OriginURL     *string                         `json:"origin_url"`
	ExternalURLs  map[string]evidence.ExternalURL `json:"external_urls,omitempty"`
	UserData      json.RawMessage                 `json:"user_data,omitempty"`
	CreatedAt     float64                         `json:"created_at"` // Unix seconds
	CreatedBy     string                          `json:"created_by"`
	// LastModifiedAt is when something was last reported to the trail, in Unix seconds.
	LastModifiedAt float64 `json:"last_modified_at"`
	// Template is the id of the template in force, which is among the members.
	Template string `json:"template_id"`
	HTMLURL  string `json:"html_url"`
	// Compliance is nil where the package does not have all of the trail's facts.
	Compliance *ComplianceDocument `json:"compliance_status,omitempty"`
}

// FlowDocument is the flow in a TrailDocument.
type FlowDocument struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Tags        map[string]string `json:"tags,omitempty"`
}

// NewFlowDocument describes a flow.
func NewFlowDocument(flow *evidence.Flow) FlowDocument {
	return FlowDocument{ID: flow.ID, Name: flow.Name, Description: flow.Description, Tags: flow.Tags}
}

// NewTrailDocument describes a trail of a flow.
func NewTrailDocument(organization string, flow *evidence.Flow, trail *evidence.Trail, link string) TrailDocument {
	return TrailDocument{
		SchemaVersion: SchemaVersion, Organization: organization,
		Flow: NewFlowDocument(flow),
		ID:   trail.ID, Name: trail.Name, Description: trail.Description, Commit: trail.Commit, OriginURL: trail.OriginURL,
		ExternalURLs: trail.ExternalURLs, UserData: trail.UserData, CreatedAt: trail.CreatedAt, CreatedBy: trail.CreatedBy,
		LastModifiedAt: trail.LastModifiedAt, Template: trail.Template, HTMLURL: link,
	}
}

// ComplianceDocument is the verdict on a trail, with the expected and the reported artifacts and attestations.
type ComplianceDocument struct {
	Status       evidence.Status     `json:"status"`
	Attestations []AttestationStatus `json:"attestations"`
	Artifacts    []ArtifactStatus    `json:"artifacts"`
}

// ArtifactStatus is an artifact that the template expects or that was reported.
type ArtifactStatus struct {
	Name string `json:"name"`
	// Fingerprint is "" if none was reported.
	Fingerprint  string              `json:"fingerprint"`
	Status       evidence.Status     `json:"status"`
	Unexpected   bool                `json:"unexpected"`
	Attestations []AttestationStatus `json:"attestations"`
}

// AttestationStatus is an attestation that the template expects or that was reported.
type AttestationStatus struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Attestation is its id, "" while it is missing; Compliant is nil then.
	Attestation string `json:"attestation_id"`
	Compliant   *bool  `json:"is_compliant"`
	Unexpected  bool   `json:"unexpected"`
	// Override tells that the attestation is an override of Overridden, which is "" if that attestation was missing.
	Override   bool   `json:"is_override"`
	Overridden string `json:"overridden_attestation_id,omitempty"`
}

// NewComplianceDocument describes a report on a trail.
func NewComplianceDocument(report *compliance.Report) *ComplianceDocument {
	return &ComplianceDocument{
		Status: report.Status, Attestations: evidence.Map(report.Attestations, newAttestationStatus),
		Artifacts: evidence.Map(report.Artifacts, newArtifactStatus),
	}
}

func newArtifactStatus(status compliance.ArtifactStatus) ArtifactStatus {
	document := ArtifactStatus{
		Name: status.Name, Status: status.Status, Unexpected: status.Unexpected,
		Attestations: evidence.Map(status.Attestations, newAttestationStatus),
	}
	if status.Artifact != nil {
		document.Fingerprint = status.Artifact.Fingerprint
	}
	return document
}

func newAttestationStatus(status compliance.AttestationStatus) AttestationStatus {
	document := AttestationStatus{Name: status.Name, Type: status.Type, Unexpected: status.Unexpected}
	if entry := status.Entry; entry != nil {
		document.Attestation, document.Compliant = entry.ID, &entry.Compliant
		document.Override, document.Overridden = entry.Override, entry.Overridden
	}
	return document
}

// ArtifactDocument is an artifact with all its reports, and its state in each trail.
type ArtifactDocument struct {
	SchemaVersion int    `json:"schema_version"`
	Fingerprint   string `json:"fingerprint"`
	// Reports are sorted, the oldest first.
	Reports []evidence.ArtifactRecord `json:"reports"`
	States  []ArtifactState           `json:"states"`
}

// runsAs reports whether the running artifact is this one or a child of it. A report of another flow may name the
// child.
func (a *ArtifactDocument) runsAs(running *EnvironmentDocument) bool {
	named := func(record evidence.ArtifactRecord) bool {
		return slices.Contains(record.ChildFingerprints, running.Fingerprint)
	}
	return a.Fingerprint == running.Fingerprint || slices.Contains(running.ChildOf, a.Fingerprint) || slices.ContainsFunc(a.Reports, named)
}

// ArtifactState is the state that an artifact has in a trail, under one of its names there.
type ArtifactState struct {
	TrailID string `json:"trail_id"`
	Trail   string `json:"trail_name"`
	ArtifactStatus
}

// AttestationDocument is an attestation as it was recorded.
type AttestationDocument struct {
	SchemaVersion int `json:"schema_version"`
	evidence.Attestation
	// EvidencePath is the member with the evidence file, "" if there is none.
	EvidencePath string `json:"evidence_path,omitempty"`
	// EvidenceLost is why the evidence file is not among the members.
	EvidenceLost string `json:"evidence_lost,omitempty"`
}

// NewAttestationDocument describes an attestation. lost is why its evidence file is missing, or "".
func NewAttestationDocument(attestation evidence.Attestation, lost string) AttestationDocument {
	document := AttestationDocument{SchemaVersion: SchemaVersion, Attestation: attestation, EvidenceLost: lost}
	if attestation.Evidence != nil {
		file := *attestation.Evidence
		file.Object = "" // the key is internal
		document.Evidence = &file
		if lost == "" {
			document.EvidencePath = EvidencePath(attestation.ID)
		}
	}
	return document
}

// TypeDocument is a version of a custom attestation type, by which payloads were evaluated.
type TypeDocument struct {
	SchemaVersion int             `json:"schema_version"`
	Name          string          `json:"name"`
	Version       int             `json:"version"`
	Schema        json.RawMessage `json:"schema,omitempty"`
	Rules         []string        `json:"rules,omitempty"` // jq
}

// ControlDocument is the current version of a control. Decisions name the version that was in force.
type ControlDocument struct {
	SchemaVersion int `json:"schema_version"`
	control.Control
}
