package attestation

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"attestry/evidence"
)

// FoundPullRequestV1 is a pull request as older clients report it.
type FoundPullRequestV1 struct {
	URL         string   `json:"url" format:"uri-reference"`
	State       string   `json:"state"`
	MergeCommit string   `json:"merge_commit" pattern:"^([a-f0-9]{40})?$"`
	Approvers   []string `json:"approvers,omitempty" nullable:"true"`
}

// FoundPullRequestV2 is a pull request as clients report it now.
type FoundPullRequestV2 struct {
	URL         string                `json:"url" format:"uri-reference"`
	State       string                `json:"state"`
	Author      string                `json:"author"`
	Title       string                `json:"title"`
	CreatedAt   float64               `json:"created_at" doc:"Unix seconds."`
	MergedAt    *float64              `json:"merged_at,omitempty" nullable:"true" doc:"Unix seconds."`
	HeadRef     string                `json:"head_ref"`
	BaseRef     *string               `json:"base_ref,omitempty" nullable:"true"`
	MergeCommit *string               `json:"merge_commit,omitempty" nullable:"true" pattern:"^([a-f0-9]{40})?$"`
	Approvers   []PullRequestApprover `json:"approvers,omitempty" nullable:"true"`
	Commits     []GitCommit           `json:"commits"`
}

// PullRequestApprover is who reviewed a pull request.
type PullRequestApprover struct {
	Username  string   `json:"username"`
	State     *string  `json:"state,omitempty" nullable:"true"`
	Timestamp *float64 `json:"timestamp,omitempty" nullable:"true" doc:"Unix seconds."`
}

type pullRequestRule []json.RawMessage

// Compliant reports whether there is a pull request; its state and its approvals do not matter.
func (r *pullRequestRule) Compliant() bool { return len(*r) > 0 }

// summarizedPullRequest has the members of a pull request, of either version, that the summary shows.
type summarizedPullRequest struct {
	URL       string
	Author    string
	Approvers []json.RawMessage
}

func summarizePullRequests(found []summarizedPullRequest) []string {
	if len(found) == 0 {
		return []string{"no pull request"}
	}
	return evidence.Map(found, func(one summarizedPullRequest) string {
		line := one.URL
		if one.Author != "" {
			line += " by " + one.Author
		}
		return line + ", approved by " + cmp.Or(strings.Join(one.others(), ", "), "nobody else")
	})
}

// others are the approvers who are not the author. Older clients send only their names.
func (p *summarizedPullRequest) others() []string {
	var others []string
	for _, raw := range p.Approvers {
		var approver PullRequestApprover
		if json.Unmarshal(raw, &approver.Username) != nil && json.Unmarshal(raw, &approver) != nil {
			continue
		}
		approved := approver.State == nil || *approver.State == "" || strings.EqualFold(*approver.State, "approved")
		if approved && approver.Username != p.Author && !slices.Contains(others, approver.Username) {
			others = append(others, approver.Username)
		}
	}
	return others
}
