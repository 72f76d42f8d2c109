// Package control has controls, the requirements that decisions refer to, and their versions (docs/semantics.md 18.5).
package control

import (
	"maps"

	"attestry/evidence"
)

// MaxIdentifier is the longest identifier, in characters.
const MaxIdentifier = 256

// Control is a requirement of an organization, by its identifier, which never changes.
type Control struct {
	Org        string `json:"org"`
	Identifier string `json:"identifier"`
	Name       string `json:"name"`
	// Description may be nil.
	Description *string `json:"description,omitempty"`
	// Links maps labels to URLs.
	Links map[string]string `json:"links,omitempty"`
	// Version is that of the latest change.
	Version   int     `json:"version"`
	CreatedBy string  `json:"created_by"` // name
	CreatedAt float64 `json:"created_at"` // Unix seconds
	Archived  bool    `json:"archived,omitempty"`
	// Tags can be changed without a new version.
	Tags map[string]string `json:"tags,omitempty"`
}

// Status is what a version changed, as the API writes it.
type Status string

// The statuses of versions (docs/semantics.md 18.5).
const (
	Created    Status = "Created"
	Edited     Status = "Edited"
	Archived   Status = "Archived"
	Unarchived Status = "Unarchived"
)

// Version is a version of a control. It is immutable.
type Version struct {
	Org         string            `json:"org"`
	Control     string            `json:"control"` // identifier
	Version     int               `json:"version"` // 1, 2, 3, …
	Status      Status            `json:"status"`
	Name        string            `json:"name"`
	Description *string           `json:"description,omitempty"`
	Links       map[string]string `json:"links,omitempty"`
	Archived    bool              `json:"archived,omitempty"`
	CreatedBy   string            `json:"created_by"` // name
	CreatedAt   float64           `json:"created_at"` // Unix seconds
}

// Change is a change of a control; nil members stay as they are.
type Change struct {
	Name *string
	// Description is not nil if it was sent; null removes it.
	Description **string
	Links       *map[string]string
	Archived    *bool
}

// Next returns the version that a change makes; ok is false if it changes nothing.
func (c *Control) Next(change Change, by string, at float64) (next Version, ok bool) {
	next = Version{
		Org: c.Org, Control: c.Identifier, Version: c.Version + 1, Status: Edited,
		Name: c.Name, Description: c.Description, Links: c.Links, Archived: c.Archived,
		CreatedBy: by, CreatedAt: at,
	}
	evidence.Assign(&next.Name, change.Name)
	evidence.Assign(&next.Description, change.Description)
	evidence.Assign(&next.Links, change.Links)
	if change.Archived != nil && *change.Archived != c.Archived {
		next.Archived, next.Status = *change.Archived, Unarchived
		if next.Archived {
			next.Status = Archived
		}
	}
	same := next.Name == c.Name && evidence.Equal(next.Description, c.Description) && maps.Equal(next.Links, c.Links) && next.Archived == c.Archived
	return next, !same
}

// Follow updates a control to a version, unless it has that one or a later one.
func (c *Control) Follow(version *Version) {
	if version.Version <= c.Version {
		return
	}
	c.Version, c.Name, c.Description, c.Links, c.Archived = version.Version, version.Name, version.Description, version.Links, version.Archived
}
