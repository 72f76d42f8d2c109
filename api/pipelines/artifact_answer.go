package pipelines

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"attestry/api/resource"
	"attestry/api/server"
	"attestry/app/states"
	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/evidence/snapshot"
	"attestry/evidence/template"
	"attestry/storage/pipelines"
)

// evaluatedArtifact is a record with its state and the documents that answers about it need.
type evaluatedArtifact struct {
	states.Evaluated
	record evidence.ArtifactRecord
	flow   evidence.Flow
	repo   *evidence.Repo
	// attested has all attestations of the record in its trail. runs has the environments that it runs or ran in. Only
	// evaluateWithHistory sets both.
	attested pipelines.Attested
	runs     []environmentRuns
}

// evaluateWithHistory is evaluate for answers with the history. It reads all attestations of the records and, with
// two more commands, up to three if they have children, and two if they ran, the environments that they run or ran in.
func (h *handlers) evaluateWithHistory(ctx context.Context, org evidence.OrgAccess, records []evidence.ArtifactRecord) ([]evaluatedArtifact, error) {
	attested, err := h.Attestations.OfRecords(ctx, org.OrgID, records)
	if err != nil {
		return nil, err
	}
	evaluated, err := h.evaluate(ctx, org, records, attested)
	if err != nil {
		return nil, err
	}
	artifacts, err := h.artifactsByFingerprint(ctx, org.OrgID, records)
	if err != nil {
		return nil, err
	}
	runs, err := h.loadEnvironmentRuns(ctx, org, artifacts)
	for i := range evaluated {
		evaluated[i].runs = runs[records[i].Fingerprint]
	}
	return evaluated, err
}

// evaluate evaluates up to a thousand records by the current facts, with a constant number of commands. Records of
// incomplete slots take some more, unless attested is given: see states.Evaluator.Evaluate.
func (h *handlers) evaluate(ctx context.Context, org evidence.OrgAccess, records []evidence.ArtifactRecord, attested pipelines.Attested) ([]evaluatedArtifact, error) {
	flows, repos, err := resource.FlowsAndRepos(ctx, h.Base, records, func(r *evidence.ArtifactRecord) (flow, repo string) { return r.Flow, r.Repo })
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

// showArtifacts shows records of one flow in full: the commands of evaluateWithHistory, and those of Approvals.Numbers.
func (h *handlers) showArtifacts(ctx context.Context, records []evidence.ArtifactRecord) ([]ArtifactResponse, error) {
	org := server.Access(ctx)
	if len(records) == 0 {
		return []ArtifactResponse{}, nil
	}
	evaluated, err := h.evaluateWithHistory(ctx, org, records)
	if err != nil {
		return nil, err
	}
	fingerprints := resource.UniqueOf(records, func(r *evidence.ArtifactRecord) string { return r.Fingerprint })
	approvals, err := h.Approvals.Numbers(ctx, records[0].Flow, fingerprints)
	return resource.Map(evaluated, func(a *evaluatedArtifact) ArtifactResponse {
		return h.showArtifact(org, a, approvals[a.record.Fingerprint])
	}), err
}

func (h *handlers) showArtifact(org evidence.OrgAccess, a *evaluatedArtifact, approvals []int) ArtifactResponse {
	answer := ArtifactResponse{
		ArtifactCommon:    h.showCommon(org, a),
		FlowName:          a.flow.Name,
		StateInfo:         stateInfo(a),
		Approvals:         append([]int{}, approvals...),
		Running:           showEnvironmentRuns(filterRuns(true, a.runs)),
		Exited:            showEnvironmentRuns(filterRuns(false, a.runs)),
		History:           a.history(),
		ChildFingerprints: a.record.ChildFingerprints,
		BuildLeadTimes:    leadTimes(a.runs, &a.record.CreatedAt),
	}
	var committed *float64
	if a.record.Commit != nil {
		committed = a.record.Commit.Timestamp
	}
	answer.CommitLeadTimes = leadTimes(a.runs, committed)
	required, _ := a.Template.Artifact(a.record.Name)
	all := slices.Concat(required.Attestations, a.Template.Trail.Attestations)
	answer.Template = resource.Map(all, func(one *template.Attestation) string { return one.Name })
	return answer
}

// stateInfo returns a sentence that explains the state of an artifact.
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

// history lists the report of an artifact, then its attestations, starts and exits, oldest first. The report comes first
// even if an attestation by name or a start is older (docs/semantics.md 5.3).
func (a *evaluatedArtifact) history() []ArtifactHistory {
	reported := a.record.Name + " reported"
	if a.record.TrailUnnamed {
		reported = "Artifact created"
	}
	history := []ArtifactHistory{{Event: reported, Timestamp: a.record.CreatedAt}}
	for _, entry := range a.attested.Of(&a.record) {
		history = append(history, ArtifactHistory{Event: entry.Name + " evidence received", Timestamp: entry.Time})
	}
	for _, runs := range a.runs {
		history = append(history, runs.history()...)
	}
	sortHistory(history[1:])
	return history
}

func sortHistory(history []ArtifactHistory) {
	slices.SortStableFunc(history, func(a, b ArtifactHistory) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
}

// environmentRuns is an environment that an artifact runs or ran in.
type environmentRuns struct {
	environment string // name
	// archived is set if the environment is archived. Nothing runs in it.
	archived bool
	// index is the environment's latest snapshot if the artifact runs, else the one in which it exited.
	index   int64
	running bool
	// events are its starts and exits, oldest first.
	events []snapshot.Event
}

func (r environmentRuns) firstStart() float64 { return r.events[0].Timestamp }

// history lists the artifact's starts and exits in the environment (docs/semantics.md 5.3).
func (r environmentRuns) history() []ArtifactHistory {
	return resource.Map(r.events, func(event *snapshot.Event) ArtifactHistory {
		sentence := "Started running in %s#%d environment"
		if event.Type == snapshot.Exited {
			sentence = "No longer running in %s#%d environment"
		}
		return ArtifactHistory{Event: fmt.Sprintf(sentence, r.environment, event.Snapshot), Timestamp: event.Timestamp}
	})
}

// filterRuns returns the environments that the artifact runs in, or those that it exited from, without archived ones.
func filterRuns(running bool, all []environmentRuns) []environmentRuns {
	return slices.DeleteFunc(slices.Clone(all), func(r environmentRuns) bool { return r.archived || r.running != running })
}

func showEnvironmentRuns(all []environmentRuns) []ArtifactPlace {
	return resource.Map(all, func(r *environmentRuns) ArtifactPlace {
		return ArtifactPlace{EnvironmentName: r.environment, SnapshotIndex: r.index}
	})
}

func environmentsOf(all []environmentRuns) []string {
	return resource.Map(all, func(r *environmentRuns) string { return r.environment })
}

// leadTimes returns the seconds from a time to the artifact's first start, by environment. It leaves out environments
// where the artifact ran before that time, and archived ones, whose names other environments may have now.
func leadTimes(all []environmentRuns, since *float64) map[string]float64 {
	times := map[string]float64{}
	for _, runs := range all {
		if since != nil && !runs.archived && runs.firstStart() >= *since {
			times[runs.environment] = evidence.RoundSeconds(runs.firstStart() - *since)
		}
	}
	return times
}

// artifactsByFingerprint maps each fingerprint and child fingerprint to the fingerprints of the artifacts that it counts
// as (docs/semantics.md 5.5). The children are those of all records of an artifact: the latest may have none.
func (h *handlers) artifactsByFingerprint(ctx context.Context, org string, records []evidence.ArtifactRecord) (map[string][]string, error) {
	own := resource.UniqueOf(records, func(record *evidence.ArtifactRecord) string { return record.Fingerprint })
	children, err := h.Provenances.Children(ctx, org, own)
	if err != nil {
		return nil, err
	}
	artifacts := map[string][]string{}
	for _, fingerprint := range own {
		artifacts[fingerprint] = []string{fingerprint}
	}
	counted, err := h.Provenances.GetMany(ctx, org, evidence.Distinct(slices.Concat(slices.Collect(maps.Values(children))...)))
	for i := range counted {
		artifacts[counted[i].Fingerprint] = evidence.Fingerprints(counted[i].Fingerprint, counted[i].Origins())
	}
	return artifacts, err
}

// loadEnvironmentRuns returns the environments that artifacts run or ran in, by fingerprint, sorted by name. artifacts
// has the form of artifactsByFingerprint.
func (h *handlers) loadEnvironmentRuns(ctx context.Context, org evidence.OrgAccess, artifacts map[string][]string) (map[string][]environmentRuns, error) {
	events, err := h.Events.OfArtifacts(ctx, org.OrgID, slices.Sorted(maps.Keys(artifacts)))
	if err != nil {
		return nil, err
	}
	type key struct{ artifact, environment string }
	byKey := map[key]*environmentRuns{}
	var ids []string
	for _, event := range events {
		if !event.Type.Started() && event.Type != snapshot.Exited {
			continue
		}
		for _, artifact := range artifacts[event.Fingerprint] {
			k := key{artifact: artifact, environment: event.Environment}
			if byKey[k] == nil {
				byKey[k] = &environmentRuns{}
			}
			byKey[k].events = append(byKey[k].events, event)
		}
		ids = append(ids, event.Environment)
	}
	ids = resource.SortUnique(ids)
	heads, err := h.Heads.GetMany(ctx, ids)
	if err != nil {
		return nil, err
	}
	environments, err := h.Environments.Names(ctx, org.OrgID, ids)
	if err != nil {
		return nil, err
	}
	byArtifact := map[string][]environmentRuns{}
	for k, runs := range byKey {
		runs.summarize(environments[k.environment], heads[k.environment].Last)
		byArtifact[k.artifact] = append(byArtifact[k.artifact], *runs)
	}
	for _, runs := range byArtifact {
		slices.SortFunc(runs, func(a, b environmentRuns) int {
			return cmp.Or(cmp.Compare(a.environment, b.environment), cmp.Compare(a.firstStart(), b.firstStart()))
		})
	}
	return byArtifact, nil
}

// summarize sorts the events and sets the other fields. latest is the number of the environment's latest snapshot.
func (r *environmentRuns) summarize(environment evidence.Environment, latest int64) {
	slices.SortFunc(r.events, func(a, b snapshot.Event) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	last := r.events[len(r.events)-1]
	r.environment, r.archived, r.index = environment.Name, environment.Archived, last.Snapshot
	running := map[string]bool{}
	for _, event := range r.events {
		if running[event.Fingerprint] = true; event.Type == snapshot.Exited {
			delete(running, event.Fingerprint)
		}
	}
	if r.running = len(running) > 0; r.running {
		r.index = max(last.Snapshot, latest)
	}
}
