package identity

// KeyOwner is a user or a service account as far as its keys are concerned.
type KeyOwner struct {
	ID, Name string
	// OrgID is that of a service account's organization; users have none.
	OrgID, OrgName string
	ServiceAccount bool
}
