package evidence

// FederatedPrefix begins the ids and names of principals with a token of an identity provider.
const FederatedPrefix = "oidc:"

// Principal is whoever a key speaks for.
type Principal struct {
	// UserID is the id of the user or of the service account.
	UserID string
	// Name is the name of the user or of the service account.
	Name string
	// ServiceAccount tells a service account from a user.
	ServiceAccount bool
	// Federated principals showed a token of an identity provider, for one organization.
	Federated bool
	// KeyID identifies the key of the request or session; tokens and issuers have none.
	KeyID string
}

// IsUser reports whether the principal is a person with an account.
func (p *Principal) IsUser() bool { return !p.ServiceAccount && !p.Federated }

// OrgAccess is what a principal may do in an organization, with its properties.
type OrgAccess struct {
	OrgID   string
	OrgName string
	// Role is the principal's role; visitors of a public organization are Readers.
	Role Role
	// Visitor tells that the principal is no member of the public organization.
	Visitor bool
	// Beta tells that the organization's experimental features are enabled.
	Beta bool
}
