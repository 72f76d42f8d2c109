package governance

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/control"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// ControlDecision is a decision on a control in answers (docs/semantics.md 18.5).
type ControlDecision struct {
	ID                  string                `json:"id"`
	Control             string                `json:"control"`
	IsCompliant         bool                  `json:"is_compliant"`
	Timestamp           float64               `json:"timestamp"`
	AttestationName     string                `json:"attestation_name"`
	EvidenceFiles       []ControlEvidenceFile `json:"evidence_files"`
	ControlVersion      *int                  `json:"control_version" nullable:"true" doc:"That of the control when the decision was recorded; null if it did not exist."`
	FlowName            *string               `json:"flow_name" nullable:"true"`
	TrailName           *string               `json:"trail_name" nullable:"true"`
	ArtifactFingerprint *string               `json:"artifact_fingerprint" nullable:"true"`
	ArtifactName        *string               `json:"artifact_name" nullable:"true"`
	Description         *string               `json:"description" nullable:"true"`
	OriginURL           *string               `json:"origin_url" nullable:"true"`
	UserData            json.RawMessage       `json:"user_data"`
}

// ControlEvidenceFile is a file attached to a decision.
type ControlEvidenceFile struct {
	Filename    string `json:"filename"`
	DownloadURL string `json:"download_url"`
}

func (h *handlers) showDecision(org evidence.OrgAccess, a *evidence.Attestation, flow evidence.Flow) ControlDecision {
	shown := ControlDecision{
		ID: a.ID, Control: a.Control, IsCompliant: a.Compliant, Timestamp: a.CreatedAt, AttestationName: a.Name,
		EvidenceFiles: []ControlEvidenceFile{}, FlowName: resource.NilIfEmpty(flow.Name), TrailName: resource.NilIfEmpty(a.Trail),
		ArtifactFingerprint: resource.NilIfEmpty(a.Fingerprint), ArtifactName: resource.NilIfEmpty(a.ArtifactName),
		Description: a.Description, OriginURL: a.OriginURL, UserData: resource.ObjectIfNil(a.UserData),
		ControlVersion: resource.NilIfEmpty(a.ControlVersion),
	}
	if a.Fingerprint == "" && len(a.Targets) > 0 {
		shown.ArtifactName = new(strings.Join(a.Targets, ", "))
	}
	if a.Evidence != nil {
		shown.EvidenceFiles = append(shown.EvidenceFiles, ControlEvidenceFile{
			Filename: a.Evidence.Filename, DownloadURL: h.Links.Evidence(org.OrgName, flow.Name, a.Trail, a.ID),
		})
	}
	return shown
}

type listControlDecisionsInput struct {
	ControlPath
	Page          int      `query:"page" minimum:"1" default:"1"`
	PerPage       int      `query:"per_page" minimum:"1" maximum:"100" default:"15"`
	IsCompliant   bool     `query:"is_compliant" doc:"Only compliant decisions, or only non-compliant ones."`
	From          float64  `query:"from_timestamp" doc:"Unix seconds, inclusive."`
	To            float64  `query:"to_timestamp" doc:"Unix seconds, inclusive."`
	FlowID        []string `query:"flow_id,explode" maxItems:"1000"`
	SortDirection string   `query:"sort_direction" enum:"asc,desc" default:"desc"`
}

// ControlDecisionList is a page of decisions (docs/semantics.md 1.10, style 4).
type ControlDecisionList struct {
	server.PageEnvelope
	Decisions []ControlDecision `json:"decisions"`
}

// listControlDecisions lists decisions by time, including those that were recorded before the control was created.
func (h *handlers) listControlDecisions(ctx context.Context, in *listControlDecisionsInput, _ control.Control) (*server.Answer[ControlDecisionList], error) {
	org := server.Access(ctx)
	query := pipelines.DecisionQuery{
		Org: org.OrgID, Control: in.Identifier, Compliant: resource.IfSent(ctx, "is_compliant", in.IsCompliant), Descending: in.SortDirection == "desc",
		From: resource.IfSent(ctx, "from_timestamp", in.From), To: resource.IfSent(ctx, "to_timestamp", in.To),
	}
	if server.QueryHas(ctx, "flow_id") {
		query.Flows = slices.Clone(in.FlowID)
	}
	decisions, total, err := h.Attestations.Decisions(ctx, query, server.OffsetOf(in.Page, in.PerPage), in.PerPage)
	if err != nil {
		return nil, err
	}
	flows := resource.UniqueOf(decisions, func(a *evidence.Attestation) string { return a.Flow })
	names, err := h.Flows.Names(ctx, org.OrgID, flows)
	return server.Answered(ControlDecisionList{
		PageEnvelope: server.PageOf(ctx, h.Links, in.Page, in.PerPage, total).Envelope(),
		Decisions:    resource.Map(decisions, func(a *evidence.Attestation) ControlDecision { return h.showDecision(org, a, names[a.Flow]) }),
	}), err
}

type getControlDecisionInput struct {
	ControlPath
	ID string `path:"decision_id"`
}

func (h *handlers) getControlDecision(ctx context.Context, in *getControlDecisionInput, _ control.Control) (*server.Answer[ControlDecision], error) {
	org := server.Access(ctx)
	decision, err := h.Attestations.Get(ctx, org.OrgID, in.ID)
	if errors.Is(err, storage.ErrNotFound) || err == nil && decision.Control != in.Identifier {
		return nil, evidence.Errorf(evidence.NotFound, "Decision '%s' does not exist for control '%s'", in.ID, in.Identifier)
	}
	if err != nil {
		return nil, err
	}
	names, err := h.Flows.Names(ctx, org.OrgID, []string{decision.Flow})
	return server.Answered(h.showDecision(org, &decision, names[decision.Flow])), err
}
