package evidence

import (
	"fmt"
	"slices"
)

// Role is what a principal may do in an organization. Each role includes the rights of the role before it.
type Role int

// The roles, from the least to the greatest. NoRole is the zero value and allows nothing.
const (
	NoRole Role = iota
	Reader
	Snapshotter
	Member
	Admin
)

// roleNames are the names of roles in the API.
var roleNames = []string{NoRole: "none", Reader: "reader", Snapshotter: "snapshotter", Member: "member", Admin: "admin"}

// ParseRole reads a role's name; any other text is an error.
func ParseRole(name string) (Role, error) {
	if role := Role(slices.Index(roleNames, name)); role > NoRole {
		return role, nil
	}
	return NoRole, fmt.Errorf("unknown role %q", name)
}

// String returns the role's name in the API. An unknown role is "none".
func (r Role) String() string {
	if r < NoRole || r > Admin {
		return roleNames[NoRole]
	}
	return roleNames[r]
}

// Allows reports whether r is at least the role least.
func (r Role) Allows(least Role) bool { return r >= least }

// MarshalText writes the role's name.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (r *Role) UnmarshalText(text []byte) error {
	role, err := ParseRole(string(text))
	if err != nil && string(text) != NoRole.String() {
		return err
	}
	*r = role
	return nil
}
