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

// EvaluateJira reports whether at least one issue is referred to, and all that are
// exist.
func EvaluateJira(items []JiraItem) bool {
	for _, item := range items {
		if !item.IssueExists {
			return false
		}
	}
	return len(items) > 0
}
