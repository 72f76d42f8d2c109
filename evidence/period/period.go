// Package period is what audits begin with: a span of time, all that was deployed in it, who approved that, and a sample that
// anybody can draw again (docs/semantics.md 26).
package period

import "math"

// Period is a span of time in which environments are audited. It never changes.
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

// Key is that of the period of a name in an organization, by its id.
func Key(org, name string) string { return org + "/" + name }

// Last is the last moment of the period, in Unix seconds.
func (p *Period) Last() float64 { return math.Nextafter(p.To, p.From) }

// Open tells that the period has not ended by a time in Unix seconds.
func (p *Period) Open(now float64) bool { return now < p.To }
