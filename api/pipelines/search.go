package pipelines

import (
	"context"
	"errors"
	"slices"
	"strings"

	"attestry/api/jsonstream"
	"attestry/api/resource"
	"attestry/api/server"
	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// maxFound bounds the reported artifacts that a search shows. The newest are shown.
const maxFound = 200

type getSearchInput struct {
	server.OrgPath
	Value string `path:"search_value" pattern:"^[a-fA-F0-9]{5,64}$" doc:"A fingerprint or commit SHA, or how it begins."`
}

// SearchResultGetResponse is the result of a search (docs/semantics.md 15.5).
type SearchResultGetResponse struct {
	ResolvedTo SearchResolvedModel                       `json:"resolved_to"`
	Artifacts  jsonstream.List[SearchFoundArtifactModel] `json:"artifacts"`
}

// SearchResolvedModel lists the fingerprints and commits that the digits match.
type SearchResolvedModel struct {
	Type         string               `json:"type" enum:"fingerprint,commit,mixed"`
	FullMatch    *string              `json:"full_match" nullable:"true" doc:"The fingerprint or commit, when there is only one."`
	Fingerprints SearchResolvedSubset `json:"fingerprints"`
	Commits      SearchResolvedSubset `json:"commits"`
}

// SearchResolvedSubset lists the fingerprints or the commits that were found.
type SearchResolvedSubset struct {
	Type    string   `json:"type" enum:"fingerprint,commit"`
	Count   int      `json:"count"`
	Matches []string `json:"matches"`
}

// SearchFoundArtifactModel is an artifact that was found. If it runs or ran but was reported to no flow, the members
// from its report are empty, except the commit.
type SearchFoundArtifactModel struct {
	Fingerprint           string            `json:"fingerprint"`
	Name                  string            `json:"name"`
	HasProvenance         bool              `json:"has_provenance"`
	GitCommit             string            `json:"git_commit" doc:"40 zeros when it is unknown or shorter than 7 characters."`
	Pipeline              string            `json:"pipeline"`
	Flow                  string            `json:"flow"`
	Trail                 string            `json:"trail"`
	TemplateReferenceName string            `json:"template_reference_name"`
	BuildURL              string            `json:"build_url"`
	CommitURL             string            `json:"commit_url"`
	ComplianceState       string            `json:"compliance_state"`
	RunningIn             []string          `json:"running_in"`
	ExitedFrom            []string          `json:"exited_from"`
	HTMLURL               string            `json:"html_url"`
	APIURL                string            `json:"api_url"`
	History               []ArtifactHistory `json:"history"`
}

// search finds the artifacts whose fingerprint or commit begins with the digits: those that were reported to flows, and
// those that run or ran without a report.
func (h *handlers) search(ctx context.Context, in *getSearchInput) (*server.Answer[SearchResultGetResponse], error) {
	org, digits := server.Access(ctx), strings.ToLower(in.Value)
	traces, err := h.Artifacts.Search(ctx, org.OrgID, digits)
	var ran []string
	if err == nil {
		ran, err = h.Events.Beginning(ctx, org.OrgID, digits)
	}
	if errors.Is(err, storage.ErrAmbiguous) {
		return nil, evidence.NewError(evidence.NotFound, "Search results are too ambiguous. Please give more digits.")
	}
	if err != nil {
		return nil, err
	}
	unreported, err := h.findUnreported(ctx, org, traces, ran)
	if err != nil {
		return nil, err
	}
	if len(traces.Records)+len(unreported) == 0 {
		return nil, evidence.Errorf(evidence.NotFound, "No matches for '%s'.", in.Value)
	}
	for _, artifact := range unreported {
		traces.Fingerprints = append(traces.Fingerprints, artifact.Fingerprint)
	}
	records := h.Artifacts.OfIDs(traces.Records[:min(len(traces.Records), maxFound)])
	reported := server.PartsOf(h.BatchBytes, records, h.showReported)
	return server.Answered(SearchResultGetResponse{
		ResolvedTo: showMatches(resource.SortUnique(traces.Fingerprints), traces.Commits), Artifacts: reported.Append(unreported...),
	}), nil
}

func showMatches(fingerprints, commits []string) SearchResolvedModel {
	model := SearchResolvedModel{
		Type:         "mixed",
		Fingerprints: SearchResolvedSubset{Type: "fingerprint", Count: len(fingerprints), Matches: append([]string{}, fingerprints...)},
		Commits:      SearchResolvedSubset{Type: "commit", Count: len(commits), Matches: append([]string{}, commits...)},
	}
	switch {
	case len(commits) == 0:
		model.Type = "fingerprint"
	case len(fingerprints) == 0:
		model.Type = "commit"
	}
	if all := slices.Concat(fingerprints, commits); len(all) == 1 {
		model.FullMatch = &all[0]
	}
	return model
}

// showReported shows artifacts that were reported to flows.
func (h *handlers) showReported(ctx context.Context, records []evidence.ArtifactRecord) ([]SearchFoundArtifactModel, error) {
	org := server.Access(ctx)
	evaluated, err := h.evaluateWithHistory(ctx, org, records)
	return resource.Map(evaluated, func(a *evaluatedArtifact) SearchFoundArtifactModel { return h.showFound(org, a) }), err
}

// findUnreported shows artifacts that run or ran and were reported to no flow.
func (h *handlers) findUnreported(ctx context.Context, org evidence.OrgAccess, traces pipelines.Traces, ran []string) ([]SearchFoundArtifactModel, error) {
	unreported := slices.DeleteFunc(slices.Clone(ran), func(fingerprint string) bool {
		return slices.Contains(traces.Fingerprints, fingerprint) || slices.Contains(traces.Children, fingerprint)
	})
	if len(unreported) == 0 {
		return nil, nil
	}
	artifacts := make(map[string][]string, len(unreported))
	for _, fingerprint := range unreported {
		artifacts[fingerprint] = []string{fingerprint}
	}
	runs, err := h.loadEnvironmentRuns(ctx, org, artifacts)
	shown := make([]SearchFoundArtifactModel, 0, len(unreported))
	for _, fingerprint := range unreported {
		if len(runs[fingerprint]) > 0 {
			shown = append(shown, h.showUnreported(org, fingerprint, runs[fingerprint]))
		}
	}
	return shown, err
}

func (h *handlers) showFound(org evidence.OrgAccess, a *evaluatedArtifact) SearchFoundArtifactModel {
	common := h.showCommon(org, a)
	return SearchFoundArtifactModel{
		Fingerprint:           common.Fingerprint,
		Name:                  common.Filename,
		HasProvenance:         true,
		GitCommit:             common.GitCommit,
		Pipeline:              a.flow.Name,
		Flow:                  a.flow.Name,
		Trail:                 common.TrailName,
		TemplateReferenceName: common.TemplateReferenceName,
		BuildURL:              common.BuildURL,
		CommitURL:             common.CommitURL,
		ComplianceState:       string(a.Status),
		RunningIn:             environmentsOf(filterRuns(true, a.runs)),
		ExitedFrom:            environmentsOf(filterRuns(false, a.runs)),
		HTMLURL:               common.HTMLURL,
		APIURL:                common.APIURL,
		History:               a.history(),
	}
}

// showUnreported shows an artifact that was reported to no flow, with the last name that it ran under.
func (h *handlers) showUnreported(org evidence.OrgAccess, fingerprint string, all []environmentRuns) SearchFoundArtifactModel {
	shown := SearchFoundArtifactModel{
		Fingerprint: fingerprint,
		GitCommit:   evidence.NoCommit,
		RunningIn:   environmentsOf(filterRuns(true, all)),
		ExitedFrom:  environmentsOf(filterRuns(false, all)),
		History:     []ArtifactHistory{},
	}
	newest, linked := 0.0, 0.0
	for _, runs := range all {
		shown.History = append(shown.History, runs.history()...)
		last := runs.events[len(runs.events)-1]
		if last.Timestamp >= newest {
			newest, shown.Name = last.Timestamp, last.Name
		}
		// An archived environment has no links, because another environment may have its name.
		if !runs.archived && last.Timestamp >= linked {
			linked = last.Timestamp
			shown.HTMLURL = h.Links.Snapshot(org.OrgName, runs.environment, runs.index)
			shown.APIURL = h.Links.SnapshotSelf(org.OrgName, runs.environment, runs.index)
		}
	}
	sortHistory(shown.History)
	return shown
}
