package pipelines

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"attestry/api/resource"
	"attestry/evidence"
	"attestry/evidence/compliance"
	"attestry/evidence/template"
	"attestry/storage/pipelines"
)

// judgedArtifact is a record with what else is known of it now.
type judgedArtifact struct {
	record   evidence.ArtifactRecord
	flow     evidence.Flow
	repo     *evidence.Repo
	template template.Template
	trail    evidence.Trail
	// slot is that of the record, which knows of the record for certain.
	slot     evidence.Slot
	artifact evidence.SlotArtifact
	status   evidence.Status
	// attested has all that was ever attested of the record in its trail; judge alone
	// leaves it out.
	attested pipelines.Attested
}

// judge judges records by what is known now, with a constant number of commands for
// a thousand. Those that slots had to drop take what Recorder.Rebuild does.
func (h *handlers) judge(ctx context.Context, org evidence.OrgAccess, records []evidence.ArtifactRecord) ([]judgedArtifact, error) {
	judged, err := h.assemble(ctx, org, records)
	if err != nil {
		return nil, err
	}
	var dropped []evidence.ArtifactRecord
	for i := range judged {
		if !judged[i].known() {
			dropped = append(dropped, judged[i].record)
		}
	}
	slots, err := h.Store.Recorder.Rebuild(ctx, org.OrgID, dropped)
	if err != nil {
		return nil, err
	}
	for i := range judged {
		judged[i].evaluate(func(record *evidence.ArtifactRecord) evidence.Slot { return slots[record.ID] })
	}
	return judged, nil
}

// judgeWithHistory is judge for those who show the history as well: it always reads the
// attestations of the records.
func (h *handlers) judgeWithHistory(ctx context.Context, org evidence.OrgAccess, records []evidence.ArtifactRecord) ([]judgedArtifact, error) {
	judged, err := h.assemble(ctx, org, records)
	if err != nil {
		return nil, err
	}
	attested, err := h.Store.Attestations.OfRecords(ctx, org.OrgID, records)
	if err != nil {
		return nil, err
	}
	for i := range judged {
		judged[i].attested = attested
		judged[i].evaluate(func(record *evidence.ArtifactRecord) evidence.Slot {
			return evidence.RebuildSlot(record, attested.Of(record))
		})
	}
	return judged, nil
}

// assemble reads what judging records takes.
func (h *handlers) assemble(ctx context.Context, org evidence.OrgAccess, records []evidence.ArtifactRecord) ([]judgedArtifact, error) {
	sources, err := h.artifactSources(ctx, org, records)
	if err != nil {
		return nil, err
	}
	judged := make([]judgedArtifact, 0, len(records))
	for _, record := range records {
		judged = append(judged, sources.of(record))
	}
	return judged, nil
}

// evaluate judges what assemble returned. rebuild makes the slot of a record that its slot
// does not know any more.
func (a *judgedArtifact) evaluate(rebuild func(*evidence.ArtifactRecord) evidence.Slot) {
	if !a.known() {
		a.slot = rebuild(&a.record)
		a.artifact, _ = a.slot.Artifact(a.record.Fingerprint)
	}
	a.status = compliance.Artifact(&a.template, &a.trail, &a.slot, a.artifact)
}

// artifactSources is what judging and showing artifacts takes beside the records.
type artifactSources struct {
	flows     map[string]evidence.Flow            // by id
	repos     map[string]evidence.Repo            // by id
	trails    map[string]evidence.Trail           // by key
	templates map[string]pipelines.StoredTemplate // by id
	slots     map[string]evidence.Slot            // by id
}

func (h *handlers) artifactSources(ctx context.Context, org evidence.OrgAccess, records []evidence.ArtifactRecord) (artifactSources, error) {
	var flows, repos, keys, slots []string
	for _, record := range records {
		key := evidence.TrailKey(record.Flow, record.Trail)
		flows, keys = append(flows, record.Flow), append(keys, key)
		slots = append(slots, evidence.SlotID(key, record.Name))
		if record.Repo != "" {
			repos = append(repos, record.Repo)
		}
	}
	sources := artifactSources{trails: map[string]evidence.Trail{}, slots: map[string]evidence.Slot{}}
	var err error
	if sources.flows, err = h.Store.Flows.Names(ctx, org.OrgID, resource.SortUnique(flows)); err != nil {
		return sources, err
	}
	if sources.repos, err = h.Store.Repos.GetMany(ctx, org.OrgID, resource.SortUnique(repos)); err != nil {
		return sources, err
	}
	trails, err := h.Store.Trails.GetMany(ctx, resource.SortUnique(keys))
	if err != nil {
		return sources, err
	}
	var templates []string
	for _, trail := range trails {
		sources.trails[trail.Key()] = trail
		templates = append(templates, trail.Template)
	}
	if sources.templates, err = h.Store.Templates.GetMany(ctx, org.OrgID, resource.SortUnique(templates)); err != nil {
		return sources, err
	}
	found, err := h.Store.Slots.GetMany(ctx, resource.SortUnique(slots))
	for _, slot := range found {
		sources.slots[slot.ID()] = slot
	}
	return sources, err
}

func (s artifactSources) of(record evidence.ArtifactRecord) judgedArtifact {
	trail := s.trails[evidence.TrailKey(record.Flow, record.Trail)]
	slot := s.slots[evidence.SlotID(evidence.TrailKey(record.Flow, record.Trail), record.Name)]
	one := judgedArtifact{
		record: record, flow: s.flows[record.Flow], trail: trail, template: s.templates[trail.Template].Template, slot: slot,
	}
	one.artifact, _ = slot.Artifact(record.Fingerprint)
	if repo, ok := s.repos[record.Repo]; ok {
		one.repo = &repo
	}
	return one
}

// known tells whether the slot has all that concerns the artifact: one that was
// pruned has it for certain of the current artifact alone.
func (a *judgedArtifact) known() bool {
	current, ok := a.slot.Current()
	if a.slot.Pruned {
		return ok && current.Fingerprint == a.record.Fingerprint
	}
	return a.artifact.Fingerprint == a.record.Fingerprint
}

func (h *handlers) showCommon(org evidence.OrgAccess, a *judgedArtifact) ArtifactCommon {
	record := &a.record
	modified := record.CreatedAt
	for _, entry := range a.slot.Bound(a.artifact) {
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
		State:                 a.status,
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

// showArtifacts shows records in full: what judgeWithHistory takes, and three commands
// for where they run.
func (h *handlers) showArtifacts(ctx context.Context, org evidence.OrgAccess, records []evidence.ArtifactRecord) ([]ArtifactResponse, error) {
	shown := make([]ArtifactResponse, 0, len(records))
	if len(records) == 0 {
		return shown, nil
	}
	judged, err := h.judgeWithHistory(ctx, org, records)
	if err != nil {
		return nil, err
	}
	var fingerprints []string
	for _, record := range records {
		fingerprints = append(fingerprints, record.Fingerprint)
	}
	places, err := h.placesOf(ctx, org, resource.SortUnique(fingerprints))
	if err != nil {
		return nil, err
	}
	for _, artifact := range judged {
		shown = append(shown, h.showArtifact(org, &artifact, places[artifact.record.Fingerprint]))
	}
	return shown, nil
}

func (h *handlers) showArtifact(org evidence.OrgAccess, a *judgedArtifact, places []place) ArtifactResponse {
	answer := ArtifactResponse{
		ArtifactCommon: h.showCommon(org, a),
		Template:       []string{},
		FlowName:       a.flow.Name,
		StateInfo:      stateInfo(a),
		Approvals:      []int{},
		Running:        showPlaces(runningIn(places)),
		Exited:         showPlaces(exitedFrom(places)),
		History:        a.history(places),
		BuildLeadTimes: leadTimes(places, &a.record.CreatedAt),
	}
	var committed *float64
	if a.record.Commit != nil {
		committed = a.record.Commit.Timestamp
	}
	answer.CommitLeadTimes = leadTimes(places, committed)
	required, _ := a.template.Artifact(a.record.Name)
	for _, one := range slices.Concat(required.Attestations, a.template.Trail.Attestations) {
		answer.Template = append(answer.Template, one.Name)
	}
	return answer
}

// stateInfo says in a sentence why an artifact has its state.
func stateInfo(a *judgedArtifact) string {
	own := compliance.DescribeArtifact(&a.template, &a.trail, &a.slot, a.artifact).Attestations
	ofTrail := compliance.Describe(&a.template, &a.trail, nil).Attestations
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
func (a *judgedArtifact) history(places []place) []ArtifactHistory {
	history := []ArtifactHistory{{Event: "Artifact created", Timestamp: a.record.CreatedAt}}
	for _, entry := range a.attested.Of(&a.record) {
		history = append(history, ArtifactHistory{Event: entry.Name + " evidence received", Timestamp: entry.Time})
	}
	for _, place := range places {
		history = append(history, place.history()...)
	}
	slices.SortStableFunc(history, func(a, b ArtifactHistory) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
	return history
}
