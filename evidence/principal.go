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
	// Federated tells that the principal showed a token of an identity provider instead of a
	// key: it is known in one organization alone, and by its name.
	Federated bool
	// KeyID identifies the key that was shown or that a session began with; it is not the
	// secret. Federated principals have none, nor have people whom the issuer signed in.
	KeyID string
}

// IsUser reports whether the principal is a person with an account.
func (p *Principal) IsUser() bool { return !p.ServiceAccount && !p.Federated }

// OrgAccess is what a principal may do in one organization, with what a request
// needs to know of that organization.
type OrgAccess struct {
	OrgID   string
	OrgName string
	// Role is the principal's role; a public organization gives Reader to
	// principals that are not members.
	Role Role
	// Visitor tells that the principal is no member of the public organization.
	Visitor bool
	// Beta tells that the organization's experimental features are enabled.
	Beta bool
}
