package attestation

import (
	"encoding/json"
	"slices"
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
	var lines []string
	for _, item := range items {
		line := "issue " + item.IssueID
		if !item.IssueExists {
			line += " (does not exist)"
		}
		lines = append(lines, line)
	}
	return lines
}
