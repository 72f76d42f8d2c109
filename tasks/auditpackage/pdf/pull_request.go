package pdf

import (
	"encoding/json"

	"attestry/evidence"
)

const (
	// maxPullRequests is how many of an attestation are shown, and maxApprovers how many
	// approvers of one of them.
	maxPullRequests = 10
	maxApprovers    = 20
)

// PullRequest is a pull request that an attestation has found.
type PullRequest struct {
	URL         string
	Title       string
	State       string
	Author      string
	Approvers   []string
	MergeCommit string // SHA, "" if it is not merged
}

// foundPullRequest has what both versions of found pull requests have in common, see
// attestation.FoundPullRequestV1 and V2; all that may be null is a pointer.
type foundPullRequest struct {
	URL         string            `json:"url"`
	State       string            `json:"state"`
	Author      *string           `json:"author"`
	Title       *string           `json:"title"`
	MergeCommit *string           `json:"merge_commit"`
	Approvers   []json.RawMessage `json:"approvers"`
}

// pullRequests reads the first pull requests that an attestation has found.
func pullRequests(a *evidence.Attestation) []PullRequest {
	var found []foundPullRequest
	if a.Type != evidence.TypePullRequest || json.Unmarshal(a.Payload["pull_requests"], &found) != nil {
		return nil
	}
	var shown []PullRequest
	for _, one := range found[:min(len(found), maxPullRequests)] {
		request := PullRequest{
			URL: shorten(one.URL, maxName), Title: shorten(valueOf(one.Title), maxName), State: shorten(one.State, maxName),
			Author: shorten(valueOf(one.Author), maxName), MergeCommit: shorten(valueOf(one.MergeCommit), maxName),
		}
		for _, approver := range one.Approvers[:min(len(one.Approvers), maxApprovers)] {
			request.Approvers = append(request.Approvers, shorten(approverName(approver), maxName))
		}
		shown = append(shown, request)
	}
	return shown
}

// approverName reads an approver: a name, or an object with the name and what was said.
func approverName(approver json.RawMessage) string {
	var name string
	if json.Unmarshal(approver, &name) == nil {
		return name
	}
	var review struct {
		Username string  `json:"username"`
		State    *string `json:"state"`
	}
	if json.Unmarshal(approver, &review) != nil {
		return ""
	}
	if state := valueOf(review.State); state != "" {
		return review.Username + " (" + state + ")"
	}
	return review.Username
}

func valueOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
