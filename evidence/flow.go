package evidence

import (
	"cmp"
	"fmt"
)

// Flow is a process that an organization follows: what its trails are measured by.
type Flow struct {
	ID          string `json:"id"`
	Org         string `json:"org"`
	Name        string `json:"name"`
	Description string `json:"description"`
	// Visibility is kept as sent, and changes nothing (docs/semantics.md 3.1).
	Visibility string `json:"visibility"`
	// Template is the id of the template that new trails take.
	Template string            `json:"template"`
	RepoURL  *string           `json:"repo_url"`
	Tags     map[string]string `json:"tags,omitempty"`
	// Archived flows are renamed and leave the lists; what was recorded in them stays.
	Archived       bool    `json:"archived,omitempty"`
	CreatedAt      float64 `json:"created_at"`
	CreatedBy      string  `json:"created_by"`
	LastModifiedAt float64 `json:"last_modified_at"`
}

// The visibilities of flows. Private is the one of flows that say nothing.
const (
	PublicFlow  = "public"
	PrivateFlow = "private"
)

// Apply takes over what a request says of a flow; what it leaves out gets the default that fresh has. Tags stay, and
// so does the template if fresh has none. It reports whether anything changed.
func (f *Flow) Apply(fresh Flow) bool {
	before := *f
	f.Description, f.Visibility, f.RepoURL = fresh.Description, fresh.Visibility, fresh.RepoURL
	f.Template = cmp.Or(fresh.Template, f.Template)
	return f.Description != before.Description || f.Visibility != before.Visibility ||
		f.Template != before.Template || !Equal(f.RepoURL, before.RepoURL)
}

// Archive takes a flow out of use at a moment in Unix seconds: its name becomes free.
func (f *Flow) Archive(at float64) {
	if f.Archived {
		return
	}
	f.Archived = true
	f.Name = fmt.Sprintf("%s-archived-at-%d", f.Name, int64(at))
	f.LastModifiedAt = max(f.LastModifiedAt, at)
}
