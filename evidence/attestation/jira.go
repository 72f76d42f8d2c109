package attestation

import "encoding/json"

// JiraItem is one issue that a commit or branch refers to.
type JiraItem struct {
	IssueID     string `json:"issue_id"`
	IssueURL    string `json:"issue_url" format:"uri-reference"`
	IssueExists bool   `json:"issue_exists"`
	// IssueFields are kept as they were sent.
	IssueFields map[string]json.RawMessage `json:"issue_fields,omitempty"`
}

// EvaluateJira reports whether issues are referred to, and all of them exist.
func EvaluateJira(items []JiraItem) bool {
	for _, item := range items {
		if !item.IssueExists {
			return false
		}
	}
	return len(items) > 0
}

type jiraRuleInput []struct {
	Exists bool `json:"issue_exists"`
}

// Compliant applies EvaluateJira.
func (in *jiraRuleInput) Compliant() bool {
	items := make([]JiraItem, 0, len(*in))
	for _, issue := range *in {
		items = append(items, JiraItem{IssueExists: issue.Exists})
	}
	return EvaluateJira(items)
}

func summarizeJira(items []JiraItem) []string {
	if len(items) == 0 {
		return []string{"No issue"}
	}
	var lines []string
	for _, item := range items {
		line := "Issue " + item.IssueID
		if !item.IssueExists {
			line += " (does not exist)"
		}
		lines = append(lines, line)
	}
	return lines
}
