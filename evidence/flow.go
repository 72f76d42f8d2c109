package evidence

import (
	"cmp"
	"fmt"
	"regexp"
)

// Flow is a delivery process of an organization, such as the pipeline of one service.
type Flow struct {
	ID          string `json:"id"`
	Org         string `json:"org"`
	Name        string `json:"name"`
	Description string `json:"description"`
	// Visibility is stored as sent and has no effect (docs/semantics.md 3.1).
	Visibility string `json:"visibility"`
	// Template is the id of the template of new trails.
	Template string            `json:"template"`
	RepoURL  *string           `json:"repo_url"`
	Tags     map[string]string `json:"tags,omitempty"`
	// Archived flows are renamed and not listed. Their records stay.
	Archived       bool    `json:"archived,omitempty"`
	CreatedAt      float64 `json:"created_at"`
	CreatedBy      string  `json:"created_by"`
	LastModifiedAt float64 `json:"last_modified_at"`
}

// The visibilities of flows. Private is the default.
const (
	PublicFlow  = "public"
	PrivateFlow = "private"
)

// Apply replaces the flow's description, visibility and repository by those of fresh, and its template if fresh has
// one. It reports whether anything changed.
func (f *Flow) Apply(fresh Flow) bool {
	before := *f
	f.Description, f.Visibility, f.RepoURL = fresh.Description, fresh.Visibility, fresh.RepoURL
	f.Template = cmp.Or(fresh.Template, f.Template)
	return f.Description != before.Description || f.Visibility != before.Visibility ||
		f.Template != before.Template || !Equal(f.RepoURL, before.RepoURL)
}

// Archive archives the flow at a time in Unix seconds and renames it, which frees its name.
func (f *Flow) Archive(at float64) {
	if f.Archived {
		return
	}
	f.Archived = true
	f.Name = ArchivedFlowName(f.Name, at)
	f.LastModifiedAt = max(f.LastModifiedAt, at)
}

// ArchivedFlowName is the name of a flow after it was archived at a time in Unix seconds.
func ArchivedFlowName(name string, at float64) string {
	return fmt.Sprintf("%s-archived-at-%d", name, int64(at))
}

var archivedFlowName = regexp.MustCompile(`(-archived-at-\d+)+$`)

// IsArchivedFlowName reports whether a name has the form of ArchivedFlowName.
func IsArchivedFlowName(name string) bool { return archivedFlowName.MatchString(name) }

// FlowNameBeforeArchiving returns a name without the endings of ArchivedFlowName: archiving a flow does not change it.
func FlowNameBeforeArchiving(name string) string { return archivedFlowName.ReplaceAllString(name, "") }
