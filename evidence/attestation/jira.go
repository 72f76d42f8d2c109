package attestation

import (
	"encoding/json"
	"slices"

	"attestry/evidence"
)

// JiraItem is one issue that a commit or branch refers to.
type JiraItem struct {
	IssueID     string `json:"issue_id"`
	IssueURL    string `json:"issue_url" format:"uri-reference"`
	IssueExists bool   `json:"issue_exists"`
	// IssueFields are stored as they were sent.
	IssueFields map[string]json.RawMessage `json:"issue_fields,omitempty"`
}

type jiraReference struct {
	Exists bool `json:"issue_exists"`
}

type jiraRule []jiraReference

// Compliant reports whether there are issues and all of them exist.
func (r *jiraRule) Compliant() bool {
	return len(*r) > 0 && !slices.ContainsFunc(*r, func(item jiraReference) bool { return !item.Exists })
}

func summarizeJira(items []JiraItem) []string {
	if len(items) == 0 {
		return []string{"no issue"}
	}
	return evidence.Map(items, func(item JiraItem) string {
		if !item.IssueExists {
			return "issue " + item.IssueID + " (does not exist)"
		}
		return "issue " + item.IssueID
	})
}
