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

// maxFound bounds how many artifacts a search shows, the newest of them.
const maxFound = 200

type getSearchInput struct {
	server.OrgPath
	Value string `path:"search_value" pattern:"^[a-fA-F0-9]{5,64}$" doc:"A fingerprint or commit SHA, or how it begins."`
}

// SearchResultGetResponse is what was found (docs/semantics.md 15.5).
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

// SearchFoundArtifactModel is an artifact that was found. One that was reported to
// no flow runs or ran; the members from its report are empty then, except for the commit.
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

// search finds the artifacts whose fingerprint or commit is, or begins with, the
// given digits: those that were reported to flows, and those that run or ran without a report.
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
	unknown, err := h.findRunning(ctx, org, traces, ran)
	if err != nil {
		return nil, err
	}
	if len(traces.Records)+len(unknown) == 0 {
		return nil, evidence.Errorf(evidence.NotFound, "No matches for '%s'.", in.Value)
	}
	for _, artifact := range unknown {
		traces.Fingerprints = append(traces.Fingerprints, artifact.Fingerprint)
	}
	records := h.Artifacts.OfIDs(traces.Records[:min(len(traces.Records), maxFound)])
	known := server.PartsOf(h.BatchBytes, records, h.findReported)
	return server.Answered(SearchResultGetResponse{
		ResolvedTo: resolved(resource.SortUnique(traces.Fingerprints), traces.Commits), Artifacts: known.Append(unknown...),
	}), nil
}

// resolved sums up what the digits match.
func resolved(fingerprints, commits []string) SearchResolvedModel {
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

// findReported shows artifacts that were reported to flows.
func (h *handlers) findReported(ctx context.Context, records []evidence.ArtifactRecord) ([]SearchFoundArtifactModel, error) {
	org := server.Access(ctx)
	evaluated, err := h.evaluateWithHistory(ctx, org, records)
	return resource.Map(evaluated, func(a *evaluatedArtifact) SearchFoundArtifactModel { return h.showFound(org, a) }), err
}

// findRunning shows artifacts that run or ran and were reported to no flow.
func (h *handlers) findRunning(ctx context.Context, org evidence.OrgAccess, traces pipelines.Traces, ran []string) ([]SearchFoundArtifactModel, error) {
	unknown := slices.DeleteFunc(slices.Clone(ran), func(fingerprint string) bool {
		return slices.Contains(traces.Fingerprints, fingerprint) || slices.Contains(traces.Children, fingerprint)
	})
	if len(unknown) == 0 {
		return nil, nil
	}
	own := make(map[string][]string, len(unknown))
	for _, fingerprint := range unknown {
		own[fingerprint] = []string{fingerprint}
	}
	runs, err := h.loadEnvironmentRuns(ctx, org, own)
	shown := make([]SearchFoundArtifactModel, 0, len(unknown))
	for _, fingerprint := range unknown {
		if len(runs[fingerprint]) > 0 {
			shown = append(shown, h.showUnknown(org, fingerprint, runs[fingerprint]))
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
		RunningIn:             environmentsOf(placesWhere(true, a.runs)),
		ExitedFrom:            environmentsOf(placesWhere(false, a.runs)),
		HTMLURL:               common.HTMLURL,
		APIURL:                common.APIURL,
		History:               a.history(),
	}
}

// showUnknown shows an artifact that runs or ran and was reported to no flow, by the last name it ran under.
func (h *handlers) showUnknown(org evidence.OrgAccess, fingerprint string, runs []environmentRuns) SearchFoundArtifactModel {
	shown := SearchFoundArtifactModel{
		Fingerprint: fingerprint,
		GitCommit:   evidence.NoCommit,
		RunningIn:   environmentsOf(placesWhere(true, runs)),
		ExitedFrom:  environmentsOf(placesWhere(false, runs)),
		History:     []ArtifactHistory{},
	}
	seen := 0.0
	for _, place := range runs {
		shown.History = append(shown.History, place.history()...)
		if last := place.events[len(place.events)-1]; last.Timestamp >= seen {
			seen, shown.Name = last.Timestamp, last.Name
			shown.HTMLURL = h.Links.Snapshot(org.OrgName, place.environment, place.index)
			shown.APIURL = h.Links.SnapshotSelf(org.OrgName, place.environment, place.index)
		}
	}
	sortHistory(shown.History)
	return shown
}
