package pipelines

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"attestry/api/resource"
	"attestry/app/states"
	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/storage/pipelines"
)

// evaluatedArtifact is a record with its state and what else answers show of it.
type evaluatedArtifact struct {
	states.Evaluated
	record evidence.ArtifactRecord
	flow   evidence.Flow
	repo   *evidence.Repo
	// attested has all that was ever attested of the record in its trail; only
	// evaluateWithHistory sets it.
	attested pipelines.Attested
}

// evaluate evaluates records by what is known now, with a constant number of commands for
// a thousand. Those that slots had to drop take some more: see states.Evaluator.
func (h *handlers) evaluate(ctx context.Context, org evidence.OrgAccess, records []evidence.ArtifactRecord) ([]evaluatedArtifact, error) {
	return h.evaluateFrom(ctx, org, records, nil)
}

// evaluateWithHistory is evaluate for those who show the history as well: it always reads
// all attestations of the records.
func (h *handlers) evaluateWithHistory(ctx context.Context, org evidence.OrgAccess, records []evidence.ArtifactRecord) ([]evaluatedArtifact, error) {
	attested, err := h.Attestations.OfRecords(ctx, org.OrgID, records)
	if err != nil {
		return nil, err
	}
	return h.evaluateFrom(ctx, org, records, attested)
}

func (h *handlers) evaluateFrom(ctx context.Context, org evidence.OrgAccess, records []evidence.ArtifactRecord, attested pipelines.Attested) ([]evaluatedArtifact, error) {
	var flowIDs, repoIDs []string
	for _, record := range records {
		flowIDs = append(flowIDs, record.Flow)
		if record.Repo != "" {
			repoIDs = append(repoIDs, record.Repo)
		}
	}
	flows, err := h.Flows.Names(ctx, org.OrgID, resource.SortUnique(flowIDs))
	if err != nil {
		return nil, err
	}
	repos, err := h.Repos.GetMany(ctx, org.OrgID, resource.SortUnique(repoIDs))
	if err != nil {
		return nil, err
	}
	evaluated, err := h.States.Evaluate(ctx, org.OrgID, records, attested)
	artifacts := make([]evaluatedArtifact, 0, len(evaluated))
	for i, one := range evaluated {
		artifact := evaluatedArtifact{Evaluated: one, record: records[i], flow: flows[records[i].Flow], attested: attested}
		if repo, ok := repos[records[i].Repo]; ok {
			artifact.repo = &repo
		}
		artifacts = append(artifacts, artifact)
	}
	return artifacts, err
}

func (h *handlers) showCommon(org evidence.OrgAccess, a *evaluatedArtifact) ArtifactCommon {
	record := &a.record
	modified := record.CreatedAt
	for _, entry := range a.Slot.Bound(a.Artifact) {
		modified = max(modified, entry.Time)
	}
	return ArtifactCommon{
		ID:                    record.ID,
		TrailName:             record.Trail,
		TemplateReferenceName: record.Name,
		Fingerprint:           record.Fingerprint,
		Filename:              record.Filename,
		GitCommit:             evidence.ShownSHA(record.CommitSHA),
		GitCommitInfo:         resource.OrNull[resource.GitCommit]{Value: showFullCommit(record.Commit)},
		RepoInfo:              resource.OrNull[RepoInfoResponse]{Value: showRepoInfo(a.repo)},
		CommitURL:             record.CommitURL,
		BuildURL:              record.BuildURL,
		RepoURL:               record.RepoURL,
		HTMLURL:               h.Links.Artifact(org.OrgName, a.flow.Name, record.Fingerprint, record.ID),
		APIURL:                h.Links.ArtifactSelf(org.OrgName, a.flow.Name, record.Fingerprint),
		CreatedAt:             record.CreatedAt,
		LastModifiedAt:        modified,
		UserData:              resource.ObjectIfNil(record.UserData),
		ExternalURLs:          resource.ShowURLs(record.ExternalURLs),
		Annotations:           record.Annotations,
		State:                 a.Status,
		Deployments:           []int{},
		Evidence:              map[string]any{},
	}
}

func showFullCommit(commit *evidence.GitCommit) *resource.GitCommit {
	if commit == nil {
		return nil
	}
	return &resource.GitCommit{
		SHA1: commit.SHA1, Message: commit.Message, Author: commit.Author, AuthorUsername: commit.AuthorUsername,
		Branch: commit.Branch, Timestamp: commit.Timestamp, URL: commit.URL, Parents: commit.Parents,
		Verified: commit.Verified, SignatureState: commit.SignatureState,
	}
}

func showRepoInfo(repo *evidence.Repo) *RepoInfoResponse {
	if repo == nil {
		return nil
	}
	return &RepoInfoResponse{
		Name: repo.Name, ID: resource.NilIfEmpty(repo.ExternalID), URL: repo.URL,
		Description: repo.Description, Provider: resource.NilIfEmpty(repo.Provider),
	}
}

// showArtifacts shows records of one flow in full: the commands of evaluateWithHistory, three
// more for where they run, and those of Approvals.Numbers.
func (h *handlers) showArtifacts(ctx context.Context, org evidence.OrgAccess, records []evidence.ArtifactRecord) ([]ArtifactResponse, error) {
	shown := make([]ArtifactResponse, 0, len(records))
	if len(records) == 0 {
		return shown, nil
	}
	evaluated, err := h.evaluateWithHistory(ctx, org, records)
	if err != nil {
		return nil, err
	}
	fingerprints := fingerprintsOf(records)
	places, err := h.loadEnvironmentRuns(ctx, org, fingerprints)
	if err != nil {
		return nil, err
	}
	approvals, err := h.Approvals.Numbers(ctx, records[0].Flow, fingerprints)
	if err != nil {
		return nil, err
	}
	for _, artifact := range evaluated {
		of := artifact.record.Fingerprint
		shown = append(shown, h.showArtifact(org, &artifact, places[of], approvals[of]))
	}
	return shown, nil
}

func fingerprintsOf(records []evidence.ArtifactRecord) []string {
	return resource.UniqueOf(records, func(r *evidence.ArtifactRecord) string { return r.Fingerprint })
}

func (h *handlers) showArtifact(org evidence.OrgAccess, a *evaluatedArtifact, places []environmentRuns, approvals []int) ArtifactResponse {
	answer := ArtifactResponse{
		ArtifactCommon: h.showCommon(org, a),
		Template:       []string{},
		FlowName:       a.flow.Name,
		StateInfo:      stateInfo(a),
		Approvals:      append([]int{}, approvals...),
		Running:        showEnvironmentRuns(currentlyRunningIn(places)),
		Exited:         showEnvironmentRuns(exitedFrom(places)),
		History:        a.history(places),
		BuildLeadTimes: leadTimes(places, &a.record.CreatedAt),
	}
	var committed *float64
	if a.record.Commit != nil {
		committed = a.record.Commit.Timestamp
	}
	answer.CommitLeadTimes = leadTimes(places, committed)
	required, _ := a.Template.Artifact(a.record.Name)
	for _, one := range slices.Concat(required.Attestations, a.Template.Trail.Attestations) {
		answer.Template = append(answer.Template, one.Name)
	}
	return answer
}

// stateInfo says in a sentence why an artifact has its state.
func stateInfo(a *evaluatedArtifact) string {
	own := compliance.DescribeArtifact(a.Template, a.Trail, &a.Slot, a.Artifact).Attestations
	ofTrail := compliance.Describe(a.Template, a.Trail, nil).Attestations
	var failing, missing []string
	for _, status := range slices.Concat(own, ofTrail) {
		switch {
		case status.Entry == nil:
			missing = append(missing, status.Name)
		case !status.Entry.Compliant:
			failing = append(failing, status.Name)
		}
	}
	var sentences []string
	if len(failing) > 0 {
		sentences = append(sentences, "Non-compliant attestations: "+strings.Join(failing, ", "))
	}
	if len(missing) > 0 {
		sentences = append(sentences, "Missing attestations: "+strings.Join(missing, ", "))
	}
	if len(sentences) == 0 {
		return "All attestations are compliant"
	}
	return strings.Join(sentences, ". ")
}

// history tells what happened to an artifact, oldest first: it was reported, was
// attested, by fingerprint or by name, and began and ceased to run. An attestation by
// name may have come before the report.
func (a *evaluatedArtifact) history(places []environmentRuns) []ArtifactHistory {
	reported := a.record.Name + " reported"
	if a.record.TrailUnnamed {
		reported = "Artifact created"
	}
	history := []ArtifactHistory{{Event: reported, Timestamp: a.record.CreatedAt}}
	for _, entry := range a.attested.Of(&a.record) {
		history = append(history, ArtifactHistory{Event: entry.Name + " evidence received", Timestamp: entry.Time})
	}
	for _, place := range places {
		history = append(history, place.history()...)
	}
	slices.SortStableFunc(history, func(a, b ArtifactHistory) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
	return history
}
