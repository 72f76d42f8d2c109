// Package period has the rules of audits: periods, the approvals of deployments in them, incidents, and reproducible
// samples (docs/semantics.md 26).
package period

import "math"

// Period is a period in which environments are audited. It is immutable.
type Period struct {
	Org  string `json:"org"` // id
	Name string `json:"name"`
	// Environments are the ids of physical environments.
	Environments []string `json:"environments"`
	// From and To are Unix seconds; To is not included.
	From float64 `json:"from"`
	To   float64 `json:"to"`
	// CreatedAt is in Unix seconds.
	CreatedAt float64 `json:"created_at"`
	CreatedBy string  `json:"created_by"`
}

// Key identifies the period.
func (p *Period) Key() string { return Key(p.Org, p.Name) }

// Key is the key of the period of a name in an organization, by its id.
func Key(org, name string) string { return org + "/" + name }

// Last is the last moment of the period, in Unix seconds.
func (p *Period) Last() float64 { return math.Nextafter(p.To, p.From) }

// Open reports whether the period has not ended at a time in Unix seconds.
func (p *Period) Open(now float64) bool { return now < p.To }
