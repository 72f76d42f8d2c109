package pdf

import (
	"encoding/json"
	"slices"
	"strings"

	"attestry/evidence"
)

var (
	commitColumns      = []column{{"Commit", 62}, {"Message", 66}, {"Artifacts", 46}}
	pullRequestColumns = []column{{"Pull request", 54}, {"Author and state", 31}, {"Approvers", 30}, {"Merge commit", 59}}
)

// changes lays out the commits and pull requests of the trail.
func (r *report) changes() {
	r.section("Commits and pull requests")
	if r.Trail.Commit == nil {
		r.note("The commit of the trail is not known.")
	} else {
		r.table(factColumns, commitFacts(r.Trail.Commit))
	}
	r.artifactCommits()
	r.pullRequests()
}

func commitFacts(commit *evidence.GitCommit) []row {
	rows := []row{fact("Commit of the trail", paragraph{text: shorten(commit.SHA1, maxName), style: longDigits})}
	rows = textFact(rows, "Message", shorten(evidence.ZeroIfNil(commit.Message), maxReason))
	author := evidence.ZeroIfNil(commit.Author)
	if user := evidence.ZeroIfNil(commit.AuthorUsername); user != "" {
		author = strings.TrimSpace(author + " (" + user + ")")
	}
	rows = textFact(rows, "Author", shorten(author, maxName))
	rows = textFact(rows, "Branch", shorten(evidence.ZeroIfNil(commit.Branch), maxName))
	if commit.Timestamp != nil {
		rows = textFact(rows, "Time", moment(*commit.Timestamp))
	}
	rows = textFact(rows, "URL", shorten(evidence.ZeroIfNil(commit.URL), maxName))
	rows = textFact(rows, "Signature", signature(commit))
	return textFact(rows, "Parents", shorten(some(commit.Parents, maxTargets), maxName))
}

// signature describes the commit's signature, as the client reported it.
func signature(commit *evidence.GitCommit) string {
	state := shorten(evidence.ZeroIfNil(commit.SignatureState), maxName)
	switch {
	case commit.Verified == nil:
		return state
	case *commit.Verified:
		return strings.TrimSpace("verified " + state)
	default:
		return strings.TrimSpace("not verified " + state)
	}
}

func (r *report) artifactCommits() {
	var built []*evidence.ArtifactRecord // the first of each commit
	artifacts := map[string][]string{}   // names by SHA
	for i := range r.Artifacts {
		record := &r.Artifacts[i]
		if record.CommitSHA == "" {
			continue
		}
		if artifacts[record.CommitSHA] == nil {
			built = append(built, record)
		}
		if !slices.Contains(artifacts[record.CommitSHA], record.Name) { // it may be reported again
			artifacts[record.CommitSHA] = append(artifacts[record.CommitSHA], record.Name)
		}
	}
	if len(built) == 0 {
		return
	}
	r.subsection("Commits that artifacts were built from")
	list(&r.layout, commitColumns, built, maxOthers, "commit", "", func(first *evidence.ArtifactRecord) []cell {
		return []cell{
			{{text: shorten(first.CommitSHA, maxName), style: digits}},
			commitMessage(first.Commit),
			{{text: some(artifacts[first.CommitSHA], maxTargets), style: body}},
		}
	})
}

func commitMessage(commit *evidence.GitCommit) cell {
	if commit == nil {
		return cell{{text: "–", style: body}}
	}
	return cell{
		{text: orDash(shorten(evidence.ZeroIfNil(commit.Message), maxSummaryLine)), style: body},
		smallText(labelled("by", shorten(evidence.ZeroIfNil(commit.Author), maxName))),
	}
}

// pullRequests lays out the pull requests that attestations have found, each once.
func (r *report) pullRequests() {
	var requests []PullRequest
	known := map[string]bool{} // by URL
	for i := range r.Attestations {
		for _, request := range r.Attestations[i].PullRequests {
			if !known[request.URL] {
				known[request.URL] = true
				requests = append(requests, request)
			}
		}
	}
	r.subsection("Pull requests")
	list(&r.layout, pullRequestColumns, requests, maxOthers, "pull request", "No attestation has found a pull request.", pullRequestCells)
}

func pullRequestCells(request PullRequest) []cell {
	approvers := cell{{text: strings.Join(request.Approvers, ", "), style: body}}
	if len(request.Approvers) == 0 {
		approvers = cell{{text: "none", style: strong.in(amber)}}
	}
	return []cell{
		{{text: request.Title, style: body}, smallText(request.URL)},
		{{text: request.Author, style: body}, smallText(request.State)},
		approvers,
		{{text: orDash(request.MergeCommit), style: digits}},
	}
}

const (
	// maxPullRequests is how many of an attestation are shown, and maxApprovers how many approvers of one of them.
	maxPullRequests = 10
	maxApprovers    = 20
)

// PullRequest is a pull request that an attestation has found. It has the common fields of
// attestation.FoundPullRequestV1 and V2; null is "".
type PullRequest struct {
	URL         string    `json:"url"`
	Title       string    `json:"title"`
	State       string    `json:"state"`
	Author      string    `json:"author"`
	Approvers   approvers `json:"approvers"`
	MergeCommit string    `json:"merge_commit"` // SHA, "" if it is not merged
}

// pullRequests reads the first pull requests that an attestation has found.
func pullRequests(a *evidence.Attestation) []PullRequest {
	var found []PullRequest
	if a.Type != evidence.TypePullRequest || json.Unmarshal(a.Payload["pull_requests"], &found) != nil {
		return nil
	}
	shown := slices.Clone(found[:min(len(found), maxPullRequests)]) // without the memory of the others
	for i := range shown {
		for _, text := range []*string{&shown[i].URL, &shown[i].Title, &shown[i].State, &shown[i].Author, &shown[i].MergeCommit} {
			*text = shorten(*text, maxName)
		}
	}
	return shown
}

// approvers are the names of the first approvers.
type approvers []string

// UnmarshalJSON reads the approvers of both versions.
func (a *approvers) UnmarshalJSON(text []byte) error {
	var all []json.RawMessage
	err := json.Unmarshal(text, &all)
	*a = nil
	for _, approver := range all[:min(len(all), maxApprovers)] {
		*a = append(*a, shorten(approverName(approver), maxName))
	}
	return err
}

// approverName reads an approver: a name, or an object with the name and what was said.
func approverName(approver json.RawMessage) string {
	var name string
	if json.Unmarshal(approver, &name) == nil {
		return name
	}
	var review struct{ Username, State string }
	if json.Unmarshal(approver, &review) != nil {
		return ""
	}
	if review.State != "" {
		return review.Username + " (" + review.State + ")"
	}
	return review.Username
}
