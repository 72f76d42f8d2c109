package pipelines

import (
	"encoding/json"

	"attestry/api/resource"
	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/evidence/template"
	"attestry/storage/pipelines"
)

// GetTrail is a trail as answers show it (docs/semantics.md 4.3). Lists leave
// the events out.
type GetTrail struct {
	Name             string                                    `json:"name"`
	Description      string                                    `json:"description"`
	GitCommitInfo    resource.OrNull[resource.GitCommitInfo]   `json:"git_commit_info"`
	OriginURL        *string                                   `json:"origin_url" nullable:"true"`
	UserData         json.RawMessage                           `json:"user_data"`
	RepoIDs          []string                                  `json:"repo_ids"`
	LastModifiedAt   float64                                   `json:"last_modified_at"`
	CreatedAt        float64                                   `json:"created_at"`
	ComplianceStatus TrailComplianceStatus                     `json:"compliance_status"`
	Template         Template                                  `json:"template"`
	ComplianceState  evidence.Status                           `json:"compliance_state" enum:"INCOMPLETE,COMPLIANT,NON-COMPLIANT"`
	IsCompliant      bool                                      `json:"is_compliant"`
	Events           []TrailEvent                              `json:"events,omitempty"`
	CreatedBy        string                                    `json:"created_by"`
	Flow             FlowInfo                                  `json:"flow"`
	ExternalURLs     map[string]resource.ExternalAttachmentUrl `json:"external_urls" nullable:"true"`
	HTMLURL          string                                    `json:"html_url"`
}

// TrailComplianceStatus says how far a trail has come.
type TrailComplianceStatus struct {
	Status               evidence.Status                              `json:"status" enum:"INCOMPLETE,COMPLIANT,NON-COMPLIANT"`
	IsCompliant          *bool                                        `json:"is_compliant" nullable:"true"`
	AttestationsStatuses []resource.AttestationComplianceStatus       `json:"attestations_statuses"`
	ArtifactsStatuses    map[string]resource.ArtifactComplianceStatus `json:"artifacts_statuses"`
	EvaluatedAt          *float64                                     `json:"evaluated_at" nullable:"true"`
	FlowTemplateID       *string                                      `json:"flow_template_id" nullable:"true"`
}

// Template is a flow template, parsed and as it was sent.
type Template struct {
	Version int                     `json:"version"`
	Trail   TemplateTrailDefinition `json:"trail"`
	Content *string                 `json:"content" nullable:"true" doc:"The YAML text as it was sent; null in lists when it is longer than 64 KiB."`
}

// TemplateTrailDefinition lists what a template requires.
type TemplateTrailDefinition struct {
	Attestations []TemplateAttestation `json:"attestations"`
	Artifacts    []TemplateArtifact    `json:"artifacts"`
}

// TemplateArtifact is an artifact that a template requires.
type TemplateArtifact struct {
	Name         string                `json:"name"`
	Attestations []TemplateAttestation `json:"attestations"`
}

// TemplateAttestation is an attestation that a template requires.
type TemplateAttestation struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// FlowInfo is what a trail shows of its flow.
type FlowInfo struct {
	Name string            `json:"name"`
	Tags map[string]string `json:"tags"`
}

// trailSources is what showing trails takes beside the trails.
type trailSources struct {
	flows     map[string]evidence.Flow            // by id
	templates map[string]pipelines.StoredTemplate // by id
	slots     map[string]evidence.Slot            // by trail key and name
}

func (h *handlers) showTrail(org evidence.OrgAccess, trail *evidence.Trail, sources trailSources, listed bool) GetTrail {
	stored := sources.templates[trail.Template]
	flow := sources.flows[trail.Flow]
	slots := make(map[string]evidence.Slot, len(trail.Slots))
	for name := range trail.Slots {
		slots[name] = sources.slots[evidence.SlotID(trail.Key(), name)]
	}
	report := compliance.Describe(&stored.Template, trail, slots)
	return GetTrail{
		Name:             trail.Name,
		Description:      trail.Description,
		GitCommitInfo:    resource.OrNull[resource.GitCommitInfo]{Value: resource.NewGitCommitInfo(trail.Commit)},
		OriginURL:        trail.OriginURL,
		UserData:         resource.ObjectIfNil(trail.UserData),
		RepoIDs:          append([]string{}, trail.RepoIDs...),
		LastModifiedAt:   trail.LastModifiedAt,
		CreatedAt:        trail.CreatedAt,
		ComplianceStatus: showReport(report),
		Template:         showTemplate(stored, listed),
		ComplianceState:  report.Status,
		IsCompliant:      report.Status == evidence.Compliant,
		CreatedBy:        trail.CreatedBy,
		Flow:             FlowInfo{Name: flow.Name, Tags: resource.EmptyIfNil(flow.Tags)},
		ExternalURLs:     resource.ShowURLs(trail.ExternalURLs),
		HTMLURL:          h.Links.Trail(org.OrgName, flow.Name, trail.Name),
	}
}

func showReport(report compliance.Report) TrailComplianceStatus {
	artifacts := make(map[string]resource.ArtifactComplianceStatus, len(report.Artifacts))
	for _, artifact := range report.Artifacts {
		artifacts[artifact.Name] = resource.ShowArtifactStatus(artifact, report.Template)
	}
	return TrailComplianceStatus{
		Status:               report.Status,
		IsCompliant:          new(report.Status == evidence.Compliant),
		AttestationsStatuses: resource.ShowAttestationStatuses(report.Attestations),
		ArtifactsStatuses:    artifacts,
		EvaluatedAt:          resource.NilUnlessPositive(report.EvaluatedAt),
		FlowTemplateID:       resource.NilIfEmpty(report.Template),
	}
}

// maxListedTemplate is the longest text of a template that lists repeat with each
// trail, in bytes. A longer one is to be had with the trail itself.
const maxListedTemplate = 64 << 10

func showTemplate(stored pipelines.StoredTemplate, listed bool) Template {
	content := new(string(stored.Content))
	if listed && len(*content) > maxListedTemplate {
		content = nil
	}
	shown := Template{
		Version: stored.Template.Version,
		Content: content,
		Trail: TemplateTrailDefinition{
			Attestations: showRequirements(stored.Template.Trail.Attestations),
			Artifacts:    []TemplateArtifact{},
		},
	}
	for _, artifact := range stored.Template.Trail.Artifacts {
		shown.Trail.Artifacts = append(shown.Trail.Artifacts,
			TemplateArtifact{Name: artifact.Name, Attestations: showRequirements(artifact.Attestations)})
	}
	return shown
}

func showRequirements(required []template.Attestation) []TemplateAttestation {
	shown := make([]TemplateAttestation, 0, len(required))
	for _, one := range required {
		shown = append(shown, TemplateAttestation(one))
	}
	return shown
}
