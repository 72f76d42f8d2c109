package attestation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"attestry/evidence"
)

// webFlow is the author of commits that GitHub makes on behalf of a user of its website.
const webFlow = "GitHub <noreply@github.com>"

// Approved returns how many independent approvals an attestation has after the last commit of a pull request, and why
// if it has none (docs/semantics.md 18.12). The author with the fewest approvals counts, and the pull request with the
// most. An unknown author or time counts as no approval. commit is that of the trail, "" if unknown.
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
		lack = cmp.Or(lack, fault)
	}
	if approvers > 0 {
		return approvers, ""
	}
	return 0, oneLine(lack)
}

// MergeCommits are the merge commits of the pull requests of an attestation.
func MergeCommits(a *evidence.Attestation) (commits []string) {
	found, _ := pullRequestsOf(a) // none if they cannot be read
	for i := range found {
		commits = append(commits, evidence.ZeroIfNil(found[i].MergeCommit))
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

// reviewed has the members of a pull request, of either version, that approvals depend on.
type reviewed struct {
	Author      string
	MergeCommit *string `json:"merge_commit"`
	Commits     []evidence.GitCommit
	Approvers   []json.RawMessage
	// people are those of the attestation.
	people evidence.Accounts
}

// addressOf is the e-mail address in the author of a commit, such as Ada <ada@example.com>. It is "" unless the
// commit's signature was verified, because anybody can write another address into a commit.
func addressOf(commit *evidence.GitCommit) string {
	if commit.Verified == nil || !*commit.Verified {
		return ""
	}
	_, address, _ := strings.Cut(evidence.ZeroIfNil(commit.Author), " <")
	return strings.TrimSuffix(address, ">")
}

// authorOf is the author of a commit, "" if unknown. Without a username, the address must be a known account.
func (r *reviewed) authorOf(commit *evidence.GitCommit) string {
	if username := evidence.ZeroIfNil(commit.AuthorUsername); username != "" {
		return r.people.Person(username)
	}
	return r.people[strings.ToLower(addressOf(commit))]
}

// names are the names of all accounts in the pull request.
func (r *reviewed) names() []string {
	names := []string{r.Author}
	for i := range r.Commits {
		names = append(names, evidence.ZeroIfNil(r.Commits[i].AuthorUsername), addressOf(&r.Commits[i]))
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
	approved := evidence.SetOf(r.approvals(last), func(by *string) string { return evidence.InOneCase(*by) })
	for i, author := range authors {
		count := len(approved)
		if approved[evidence.InOneCase(author)] {
			count--
		}
		if count == 0 {
			return 0, author + " has no approval of somebody else after the last commit"
		}
		if i == 0 || count < approvers {
			approvers = count
		}
	}
	return approvers, ""
}

// authors returns the authors of the code and the time of the last commit in Unix seconds, or in fault what is unknown.
// Whoever opened the pull request is one of them, unless the trail's commit is its merge commit.
func (r *reviewed) authors(commit string) (authors []string, last float64, fault string) {
	for _, one := range r.Commits {
		if one.Timestamp == nil {
			return nil, 0, fmt.Sprintf("it is not known when commit %s was made", one.SHA1)
		}
		last = max(last, *one.Timestamp)
		if evidence.ZeroIfNil(one.Author) == webFlow {
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

// approvals are the distinct names of those who approved after a time. Older clients send names without state and time,
// which do not count.
func (r *reviewed) approvals(after float64) []string {
	var names []string
	for _, raw := range r.Approvers {
		var one PullRequestApprover
		if json.Unmarshal(raw, &one) != nil || one.Username == "" || one.State == nil || one.Timestamp == nil {
			continue
		}
		if strings.EqualFold(*one.State, "APPROVED") && *one.Timestamp > after {
			names = append(names, r.people.Person(one.Username))
		}
	}
	return evidence.FirstOfEach(names, evidence.InOneCase)
}
