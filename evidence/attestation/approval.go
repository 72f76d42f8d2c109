package attestation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"attestry/evidence"
)

// webFlow is the author of commits that the website of GitHub makes for somebody who has said so there.
const webFlow = "GitHub <noreply@github.com>"

// Approved says how many others approved what each author of a pull request wrote, after its last commit: the least number
// of any author, of the pull request that has most (docs/semantics.md 18.12). If there are none, lack says why. What
// cannot be told counts as not approved. commit is that of the trail, "" if it is not known.
func Approved(a *evidence.Attestation, commit string) (approvers int, lack string) {
	found, err := pullRequestsOf(a)
	if err != nil {
		return 0, "the pull requests cannot be read"
	}
	if len(found) == 0 {
		return 0, "there is no pull request"
	}
	for i := range found {
		count, fault := found[i].approved(commit)
		approvers = max(approvers, count)
		if lack == "" {
			lack = fault
		}
	}
	if approvers > 0 {
		return approvers, ""
	}
	return 0, oneLine(lack)
}

// MergeCommits are those of the pull requests of an attestation.
func MergeCommits(a *evidence.Attestation) (commits []string) {
	found, _ := pullRequestsOf(a) // those that cannot be read have none
	for i := range found {
		commits = append(commits, evidence.Text(found[i].MergeCommit))
	}
	return commits
}

func pullRequestsOf(a *evidence.Attestation) (found []reviewed, err error) {
	err = json.Unmarshal(a.Payload["pull_requests"], &found)
	for i := range found {
		found[i].people = a.People
	}
	return found, err
}

// reviewed is a pull request of either version, as far as approvals are concerned.
type reviewed struct {
	Author      string
	MergeCommit *string `json:"merge_commit"`
	Commits     []evidence.GitCommit
	Approvers   []json.RawMessage
	// people are those of the attestation.
	people evidence.Accounts
}

// addressOf is that in the author of a commit, such as Ada <ada@example.com>, if the commit's signature was verified:
// anybody can write another address into a commit. Else it is "".
func addressOf(commit *evidence.GitCommit) string {
	if commit.Verified == nil || !*commit.Verified {
		return ""
	}
	_, address, _ := strings.Cut(evidence.Text(commit.Author), " <")
	return strings.TrimSuffix(address, ">")
}

// authorOf is who wrote a commit, "" if that cannot be told. Without a username, the address has to be one of somebody.
func (r *reviewed) authorOf(commit *evidence.GitCommit) string {
	if username := evidence.Text(commit.AuthorUsername); username != "" {
		return r.people.Person(username)
	}
	return r.people[strings.ToLower(addressOf(commit))]
}

// names are those of all accounts that the pull request names.
func (r *reviewed) names() []string {
	names := []string{r.Author}
	for i := range r.Commits {
		names = append(names, evidence.Text(r.Commits[i].AuthorUsername), addressOf(&r.Commits[i]))
	}
	for _, raw := range r.Approvers {
		var one PullRequestApprover
		if json.Unmarshal(raw, &one) == nil {
			names = append(names, one.Username)
		}
	}
	return names
}

// approved is Approved for one pull request.
func (r *reviewed) approved(commit string) (approvers int, lack string) {
	authors, last, fault := r.authors(commit)
	if fault != "" {
		return 0, fault
	}
	approved := r.approvals(last)
	for i, author := range authors {
		count := len(slices.DeleteFunc(slices.Clone(approved), func(by string) bool { return strings.EqualFold(by, author) }))
		if count == 0 {
			return 0, author + " has no approval of somebody else after the last commit"
		}
		if i == 0 || count < approvers {
			approvers = count
		}
	}
	return approvers, ""
}

// authors are who wrote the code, and last is when the last commit was made, in Unix seconds; or fault says what cannot be
// told. Whoever opened the pull request is an author, unless the trail has its merge commit: who merges writes nothing.
func (r *reviewed) authors(commit string) (authors []string, last float64, fault string) {
	for _, one := range r.Commits {
		if one.Timestamp == nil {
			return nil, 0, fmt.Sprintf("it is not known when commit %s was made", one.SHA1)
		}
		last = max(last, *one.Timestamp)
		if evidence.Text(one.Author) == webFlow {
			continue
		}
		author := r.authorOf(&one)
		if author == "" {
			return nil, 0, fmt.Sprintf("it is not known who wrote commit %s", one.SHA1)
		}
		authors = append(authors, author)
	}
	merged := commit != "" && r.MergeCommit != nil && *r.MergeCommit == commit
	if !merged && r.Author != "" {
		authors = append(authors, r.people.Person(r.Author))
	}
	if len(authors) == 0 || !merged && r.Author == "" || len(r.Commits) == 0 {
		return nil, 0, "it is not known who wrote the code"
	}
	return authors, last, ""
}

// approvals are the names of those who approved after a time, each once. Names alone, as older clients send them, say
// neither when nor whether.
func (r *reviewed) approvals(after float64) []string {
	var names []string
	for _, raw := range r.Approvers {
		var one PullRequestApprover
		if json.Unmarshal(raw, &one) != nil || one.Username == "" || one.State == nil || one.Timestamp == nil {
			continue
		}
		person := r.people.Person(one.Username)
		known := slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, person) })
		if strings.EqualFold(*one.State, "APPROVED") && *one.Timestamp > after && !known {
			names = append(names, person)
		}
	}
	return names
}
