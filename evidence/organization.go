package evidence

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"
)

const (
	// MaxNameLength bounds the name of an organization or a user, in characters.
	MaxNameLength = 64
	// MaxResourceName bounds the names of resources, such as flows and artifacts, in characters.
	MaxResourceName = 255
)

// OrganizationKind distinguishes personal from shared organizations.
type OrganizationKind string

const (
	// PersonalOrganization is created with its user, has the user's name, and never has another member.
	PersonalOrganization OrganizationKind = "personal"
	// SharedOrganization has members with roles.
	SharedOrganization OrganizationKind = "shared"
)

// Organization owns all evidence. Its name never changes.
type Organization struct {
	ID   string           `json:"id"`
	Name string           `json:"name"`
	Kind OrganizationKind `json:"kind"`
	// Beta enables the experimental features.
	Beta bool `json:"beta"`
	// Public lets every valid key read.
	Public bool `json:"public"`
	// Times are float Unix seconds. AuditedAt is that of the newest entry of the audit log.
	CreatedAt      float64 `json:"created_at"`
	LastModifiedAt float64 `json:"last_modified_at"`
	AuditedAt      float64 `json:"audited_at,omitempty"`
	// Admins are the ids of the users who administer the organization.
	Admins []string `json:"admins,omitempty"`
	// PeopleVersion is the latest version of the file that maps accounts to people, 0 if there is none.
	PeopleVersion int `json:"people_version,omitempty"`
}

// Accounts maps the names of accounts, in lower case, to the names of people (docs/semantics.md 18.13).
type Accounts map[string]string

// Person is the name of the person who has an account, or the account itself if unknown.
func (a Accounts) Person(account string) string { return cmp.Or(a[strings.ToLower(account)], account) }

var organizationName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9\-_.~]*$`)

// reservedNames are fixed path segments in places where the API or the pages have the name of an organization.
var reservedNames = []string{
	"default-org", "api-keys", "system-attestation-types",
	"api", "docs", "ready", "healthz", "readyz", "metrics", "openapi.json", "signin", "signout",
}

// Membership gives a user a role in an organization.
type Membership struct {
	OrgID     string  `json:"org_id"`
	UserID    string  `json:"user_id"`
	UserName  string  `json:"user_name"`
	Role      Role    `json:"role"`
	CreatedAt float64 `json:"created_at"` // float Unix seconds
}

// CheckOrganizationName returns why a name is invalid for an organization or a user, or nil. The form is that of trail
// names (docs/semantics.md 2.1): a name is one path segment and never needs escaping.
func CheckOrganizationName(name string) error {
	switch {
	case len(name) > MaxNameLength:
		return errors.New("name is longer than 64 characters")
	case !organizationName.MatchString(name):
		return errors.New("name must begin with a letter or digit and hold only letters, digits, '-', '_', '.' and '~'")
	case slices.Contains(reservedNames, strings.ToLower(name)):
		return errors.New("name is reserved: addresses of the service use it")
	}
	return nil
}
