package evidence

import "fmt"

// Role is what a principal may do in an organization. Roles are ordered: each
// may do all that the one before it may.
type Role int

// The roles, from the least to the greatest. NoRole is the zero value and
// allows nothing.
const (
	NoRole Role = iota
	Reader
	Snapshotter
	Member
	Admin
)

// ParseRole reads a role's name; any other text is an error.
func ParseRole(name string) (Role, error) {
	for role := Reader; role <= Admin; role++ {
		if role.String() == name {
			return role, nil
		}
	}
	return NoRole, fmt.Errorf("unknown role %q", name)
}

// String returns the role's name as the contract writes it.
func (r Role) String() string {
	switch r {
	case Reader:
		return "reader"
	case Snapshotter:
		return "snapshotter"
	case Member:
		return "member"
	case Admin:
		return "admin"
	default:
		return "none"
	}
}

// Allows reports whether whoever holds r may do what needs at least least.
func (r Role) Allows(least Role) bool { return r >= least }

// MarshalText writes the role's name.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (r *Role) UnmarshalText(text []byte) error {
	if string(text) == NoRole.String() {
		*r = NoRole
		return nil
	}
	role, err := ParseRole(string(text))
	if err != nil {
		return err
	}
	*r = role
	return nil
}
