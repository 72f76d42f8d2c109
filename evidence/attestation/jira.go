package attestation

import "encoding/json"

// JiraItem is one issue that a commit or branch refers to.
type JiraItem struct {
	IssueID     string `json:"issue_id"`
	IssueURL    string `json:"issue_url" format:"uri-reference"`
	IssueExists bool   `json:"issue_exists"`
	// IssueFields are stored as they were sent.
	IssueFields map[string]json.RawMessage `json:"issue_fields,omitempty"`
}

type jiraRule []struct {
	Exists bool `json:"issue_exists"`
}

// Compliant reports whether there are issues and all of them exist.
func (r *jiraRule) Compliant() bool {
	for _, item := range *r {
		if !item.Exists {
			return false
		}
	}
	return len(*r) > 0
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
