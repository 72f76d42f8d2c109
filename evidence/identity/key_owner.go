package identity

// KeyOwner is a user or a service account as far as its keys are concerned.
type KeyOwner struct {
	ID, Name string
	// OrgID and OrgName are of the organization of a service account. Of a user, OrgName is the
	// personal one, and OrgID is "".
	OrgID, OrgName string
	ServiceAccount bool
}
