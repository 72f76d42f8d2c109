package pipelines

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/evidence/template"
	"attestry/evidence/yamlfile"
	"attestry/storage"
	"attestry/storage/pipelines"
)

const defaultTrailsPerPage = 20

// CreateTrail is the data of create_trail (docs/semantics.md 4.1).
type CreateTrail struct {
	_             struct{}                                    `json:"-" additionalProperties:"true"`
	Name          string                                      `json:"name" maxLength:"255" pattern:"^[a-zA-Z0-9][a-zA-Z0-9\\-_.~]*$"`
	Description   *string                                     `json:"description,omitempty" nullable:"true" format:"plain-text"`
	GitCommitInfo resource.OrNull[resource.GitCommit]         `json:"git_commit_info,omitempty"`
	RepoInfo      resource.OrNull[resource.RepoInfoPostInput] `json:"repo_info,omitempty"`
	OriginURL     *string                                     `json:"origin_url,omitempty" nullable:"true" format:"uri"`
	ExternalURLs  resource.ExternalURLs                       `json:"external_urls,omitempty"`
	UserData      resource.UserData                           `json:"user_data,omitempty"`
}

// beginTrail begins a trail, or changes the members that were sent of the one with that name.
func (h *handlers) beginTrail(ctx context.Context, in *resource.FlowPath, f *server.Form[CreateTrail]) (*server.TextAnswer, error) {
	flow, err := h.ResolveActiveFlow(ctx, in.Flow)
	if err != nil {
		return nil, err
	}
	templateID, err := h.templateOf(ctx, server.Access(ctx), f.File)
	if wrong, ok := errors.AsType[*yamlfile.Error](err); ok {
		return nil, evidence.NewError(evidence.Invalid, wrong.Error())
	}
	if err != nil {
		return nil, err
	}
	scope := h.Scope(ctx, in.Flow, f.Data.Name)
	repo, err := h.ReportRepo(ctx, scope, f.Data.RepoInfo)
	if err != nil {
		return nil, err
	}
	change := evidence.TrailChange{
		Description: f.Data.Description, Commit: resource.CommitOf(f.Data.GitCommitInfo), OriginURL: f.Data.OriginURL,
		ExternalURLs: f.Data.ExternalURLs.Evidence(), UserData: f.Data.UserData.Sent(), Template: templateID,
	}
	if repo != nil {
		change.Repo = repo.ID
	}
	created, err := h.Recorder.Begin(ctx, scope, flow, change, repo)
	return server.CreatedOrOK(created), err
}

const templateField = "template_file"

// templateOf stores the template of a form and returns its id, "" for none. An invalid one is a *yamlfile.Error.
func (h *handlers) templateOf(ctx context.Context, org evidence.OrgAccess, file func(func(server.FormFile) error) error) (id string, err error) {
	err = server.ReadFile(ctx, file, template.MaxSize, func(content []byte) error {
		id, err = h.Templates.Put(ctx, org.OrgID, content)
		return err
	})
	return id, err
}

func (h *handlers) getTrail(ctx context.Context, _ *resource.TrailPath, trail evidence.Trail) (*server.Answer[GetTrail], error) {
	shown, err := h.showTrails(ctx, []evidence.Trail{trail}, false)
	if err != nil {
		return nil, err
	}
	events, err := h.Trails.Events(ctx, &trail)
	if err != nil {
		return nil, err
	}
	var environments []string
	for _, event := range events {
		if run, ok := event.Data.(*evidence.ArtifactRunData); ok {
			environments = append(environments, run.Environment)
		}
	}
	names, err := h.Environments.ActiveNames(ctx, trail.Org, resource.SortUnique(environments))
	shown[0].Events = resource.Map(events, func(event *evidence.TrailEvent) TrailEvent { return showTrailEvent(&trail, event, names) })
	return server.Answered(shown[0]), err
}

type listOrgTrailsInput struct {
	server.OrgPath
	Flow        string `query:"flow" doc:"Name of a flow."`
	FlowTag     string `query:"flow_tag" doc:"key=value"`
	Fingerprint string `query:"fingerprint" doc:"Of an artifact that was reported to the trails."`
	Search      string `query:"search" doc:"Part of the name, whatever its case: the newest 10,000 trails of the organization are searched."`
	Page        int    `query:"page" minimum:"1" default:"1"`
	PerPage     int    `query:"per_page" minimum:"1" maximum:"100" default:"20"`
}

// listOrgTrails lists the trails of an organization, newest first.
func (h *handlers) listOrgTrails(ctx context.Context, in *listOrgTrailsInput) (*server.Answer[resource.DataPage[GetTrail]], error) {
	org := server.Access(ctx)
	flows, err := h.selectFlows(ctx, org, in)
	if err != nil {
		return nil, err
	}
	trails, total, err := h.pageOfTrails(ctx, org, in, flows)
	return server.Answered(resource.DataPage[GetTrail]{
		Data: h.listOfTrails(trails), Pagination: server.PaginationOf(in.Page, in.PerPage, total),
	}), err
}

func (h *handlers) listOfTrails(trails *storage.Batches[evidence.Trail]) jsonstream.List[GetTrail] {
	return server.PartsOf(h.BatchBytes, trails, func(ctx context.Context, part []evidence.Trail) ([]GetTrail, error) {
		return h.showTrails(ctx, part, true)
	})
}

// selectFlows returns the ids of the flows that the query selects, nil for all.
func (h *handlers) selectFlows(ctx context.Context, org evidence.OrgAccess, in *listOrgTrailsInput) ([]string, error) {
	var flows []string
	if server.QueryHas(ctx, "flow") {
		flow, err := h.ResolveFlow(ctx, in.Flow)
		if err != nil {
			return nil, err
		}
		flows = []string{flow}
	}
	if !server.QueryHas(ctx, "flow_tag") {
		return flows, nil
	}
	all, err := h.Flows.List(ctx, org.OrgID)
	key, value, _ := strings.Cut(in.FlowTag, "=")
	selected := []string{}
	for _, flow := range all {
		have, tagged := flow.Tags[key]
		if tagged && have == value && (flows == nil || slices.Contains(flows, flow.ID)) {
			selected = append(selected, flow.ID)
		}
	}
	return selected, err
}

// pageOfTrails reads a page of the trails of flows, and returns their total.
func (h *handlers) pageOfTrails(ctx context.Context, org evidence.OrgAccess, in *listOrgTrailsInput, flows []string) (*storage.Batches[evidence.Trail], int64, error) {
	switch {
	case server.QueryHas(ctx, "fingerprint"):
		keys, err := h.Artifacts.TrailsWith(ctx, org.OrgID, in.Fingerprint)
		keys = slices.DeleteFunc(keys, func(key string) bool {
			_, name, _ := strings.Cut(key, "/")
			return !evidence.ContainsFold(name, in.Search)
		})
		return h.pageOfKeys(keys, in, flows, err)
	case in.Search != "":
		keys, err := h.Trails.Containing(ctx, org.OrgID, in.Search)
		return h.pageOfKeys(keys, in, flows, err)
	}
	trails, err := h.Trails.List(ctx, pipelines.TrailQuery{
		Org: org.OrgID, Flows: flows, Offset: server.OffsetOf(in.Page, in.PerPage), Limit: in.PerPage,
	})
	if err != nil {
		return nil, 0, err
	}
	total, err := h.Trails.Totals(ctx, org.OrgID, flows)
	return trails, total, err
}

// pageOfKeys reads a page of the trails with these keys, in their order. If flows is not nil, it skips other flows.
func (h *handlers) pageOfKeys(keys []string, in *listOrgTrailsInput, flows []string, err error) (*storage.Batches[evidence.Trail], int64, error) {
	if flows != nil {
		keys = slices.DeleteFunc(keys, func(key string) bool {
			flow, _, _ := strings.Cut(key, "/")
			return !slices.Contains(flows, flow)
		})
	}
	return h.Trails.OfIDs(server.CutPage(keys, in.Page, in.PerPage)), int64(len(keys)), err
}

type listFlowTrailsInput struct {
	resource.FlowPath
	Page    int `query:"page" minimum:"1" default:"1"`
	PerPage int `query:"per_page" minimum:"1" maximum:"100"`
}

// maxBareTrails bounds the list for a query without a page. It has the newest trails.
const maxBareTrails = 1000

// listFlowTrails lists the trails of a flow, newest first.
func (h *handlers) listFlowTrails(ctx context.Context, in *listFlowTrailsInput, flowID string) (*server.Answer[resource.DataList[GetTrail]], error) {
	org := server.Access(ctx)
	query := pipelines.TrailQuery{Org: org.OrgID, Flows: []string{flowID}, Limit: maxBareTrails}
	var paged *server.PaginationInfo
	if server.QueryHas(ctx, "page") || server.QueryHas(ctx, "per_page") {
		number, size := in.Page, cmp.Or(in.PerPage, defaultTrailsPerPage)
		total, err := h.Trails.Totals(ctx, org.OrgID, query.Flows)
		if err != nil {
			return nil, err
		}
		paged = new(server.PaginationOf(number, size, total))
		query.Offset, query.Limit = server.OffsetOf(number, size), size
	}
	trails, err := h.Trails.List(ctx, query)
	return server.Answered(resource.NewDataList(h.listOfTrails(trails), paged)), err
}

// showTrails shows trails, with a constant number of commands for up to a thousand slots.
func (h *handlers) showTrails(ctx context.Context, trails []evidence.Trail, listed bool) ([]GetTrail, error) {
	org := server.Access(ctx)
	var flows, templates, slots []string
	for _, trail := range trails {
		flows = append(flows, trail.Flow)
		templates = append(templates, trail.Template)
		slots = append(slots, trail.SlotIDs()...)
	}
	var sources trailSources
	var err error
	if sources.flows, err = h.Flows.Names(ctx, org.OrgID, flows); err != nil {
		return nil, err
	}
	if sources.templates, err = h.Templates.GetMany(ctx, org.OrgID, templates); err != nil {
		return nil, err
	}
	found, err := h.Slots.GetMany(ctx, slots)
	if err != nil {
		return nil, err
	}
	sources.slots = evidence.ByKey(found, (*evidence.Slot).ID)
	return resource.Map(trails, func(trail *evidence.Trail) GetTrail { return h.showTrail(org, trail, sources, listed) }), nil
}

// GetTrail is a trail in answers (docs/semantics.md 4.3). Lists leave out the events.
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

// TrailComplianceStatus is the status of a trail and of the attestations and artifacts that its template requires.
type TrailComplianceStatus struct {
	Status               evidence.Status                              `json:"status" enum:"INCOMPLETE,COMPLIANT,NON-COMPLIANT"`
	IsCompliant          *bool                                        `json:"is_compliant" nullable:"true"`
	AttestationsStatuses []resource.AttestationComplianceStatus       `json:"attestations_statuses"`
	ArtifactsStatuses    map[string]resource.ArtifactComplianceStatus `json:"artifacts_statuses"`
	EvaluatedAt          *float64                                     `json:"evaluated_at" nullable:"true"`
	FlowTemplateID       *string                                      `json:"flow_template_id" nullable:"true"`
}

// Template is a template, parsed and as it was sent.
type Template struct {
	Version int                     `json:"version"`
	Trail   TemplateTrailDefinition `json:"trail"`
	Content *string                 `json:"content" nullable:"true" doc:"The YAML text as it was sent; null in lists when it is longer than 64 KiB."`
}

// TemplateTrailDefinition lists the attestations and artifacts that a template requires.
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
type TemplateAttestation template.Attestation

// FlowInfo is the flow of a trail.
type FlowInfo struct {
	Name string            `json:"name"`
	Tags map[string]string `json:"tags"`
}

// trailSources has the documents that trails refer to.
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
	artifacts := evidence.ToMap(report.Artifacts, func(a *compliance.ArtifactStatus) (string, resource.ArtifactComplianceStatus) {
		return a.Name, resource.ShowArtifactStatus(*a, report.Template)
	})
	return TrailComplianceStatus{
		Status:               report.Status,
		IsCompliant:          new(report.Status == evidence.Compliant),
		AttestationsStatuses: resource.ShowAttestationStatuses(report.Attestations),
		ArtifactsStatuses:    artifacts,
		EvaluatedAt:          resource.NilIfEmpty(report.EvaluatedAt),
		FlowTemplateID:       resource.NilIfEmpty(report.Template),
	}
}

// maxListedTemplate bounds the text of a template in lists, which repeat it for each trail, in bytes. The answer about
// one trail has longer ones.
const maxListedTemplate = 64 << 10

func showTemplate(stored pipelines.StoredTemplate, listed bool) Template {
	content := new(string(stored.Content))
	if listed {
		content = listedTemplate(stored.Content)
	}
	return Template{
		Version: stored.Template.Version, Content: content,
		Trail: TemplateTrailDefinition{
			Attestations: showRequirements(stored.Template.Trail.Attestations),
			Artifacts: resource.Map(stored.Template.Trail.Artifacts, func(a *template.Artifact) TemplateArtifact {
				return TemplateArtifact{Name: a.Name, Attestations: showRequirements(a.Attestations)}
			}),
		},
	}
}

func showRequirements(required []template.Attestation) []TemplateAttestation {
	return resource.Map(required, func(one *template.Attestation) TemplateAttestation { return TemplateAttestation(*one) })
}
