package organizations

import (
	"context"
	"time"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/evidence/notification"
	"attestry/storage"
	"attestry/storage/environments"
	"attestry/storage/notifications"
	"attestry/storage/pipelines"
	"attestry/storage/tenancy"
)

// Stores are what the operations read and write. What does not exist is storage.ErrNotFound.
type Stores struct {
	Tenancy      Tenancy
	Actions      Actions
	Targets      Targets
	Deliveries   Deliveries
	Environments Environments
	Flows        Flows
}

// Tenancy keeps organizations, and who may do what in them.
type Tenancy interface {
	Organizations
	Members
	ServiceAccounts
	Keys
	IdentityProviders
	// AuditLog returns a page of entries, and how many there are on all pages, counted up to
	// storage.MaxCount.
	AuditLog(ctx context.Context, asked tenancy.AuditQuery) (entries []identity.AuditEntry, total int64, err error)
}

// Organizations keeps organizations and the settings of users.
type Organizations interface {
	// DefaultOrganization returns the name of the organization that a user opens
	// first, "" when none was chosen. Only users have one.
	DefaultOrganization(ctx context.Context, principal evidence.Principal) (string, error)
	// SetDefaultOrganization chooses the organization that a user opens first. It is
	// Forbidden for organizations that the user cannot see, and for all but users.
	SetDefaultOrganization(ctx context.Context, principal evidence.Principal, orgName string) error
	// Organization returns an organization by its name, or ErrNotFound.
	Organization(ctx context.Context, name string) (evidence.Organization, error)
	// CreateOrganization creates a shared organization whose administrator is a user. A name
	// that is taken is Invalid.
	CreateOrganization(ctx context.Context, name string, admin evidence.User, by identity.Actor) (evidence.Organization, error)
	// SetBeta enables or disables the experimental features of an organization, by its
	// name, or returns ErrNotFound.
	SetBeta(ctx context.Context, name string, enabled bool) error
}

// Members keeps the roles of users in organizations.
type Members interface {
	// Members returns the users who are members of an organization by name.
	Members(ctx context.Context, orgID string) ([]evidence.Membership, error)
	// Member returns the membership of a user by name, or ErrNotFound.
	Member(ctx context.Context, orgID, userName string) (evidence.Membership, error)
	// SetMember gives a user a role in a shared organization. A user that does not exist is NotFound; a
	// personal organization, and taking the role of the last administrator, are Invalid.
	SetMember(ctx context.Context, orgName, userName string, role evidence.Role, by identity.Actor) (tenancy.MemberChange, error)
	// RemoveMember takes the membership of a user in a shared organization away. ErrNotFound
	// means that there is none; removing the last administrator is Invalid.
	RemoveMember(ctx context.Context, orgName, userName string, by identity.Actor) (tenancy.MemberChange, error)
}

// ServiceAccounts keeps the service accounts of shared organizations.
type ServiceAccounts interface {
	// ServiceAccounts returns those of an organization by name.
	ServiceAccounts(ctx context.Context, orgID string) ([]identity.ServiceAccount, error)
	// ServiceAccount returns one by its name, or ErrNotFound.
	ServiceAccount(ctx context.Context, orgID, name string) (identity.ServiceAccount, error)
	// CreateServiceAccount creates one. A name that is taken, and a personal organization,
	// are Invalid.
	CreateServiceAccount(ctx context.Context, orgName string, by identity.Actor, account identity.ServiceAccount) (identity.ServiceAccount, error)
	// UpdateServiceAccount changes one that was read before, by its id, and returns it;
	// ErrNotFound if it is there no more.
	UpdateServiceAccount(ctx context.Context, orgName string, by identity.Actor, seen identity.ServiceAccount, update func(*identity.ServiceAccount)) (identity.ServiceAccount, error)
	// DeleteServiceAccount deletes one that was read before, by its id; its keys stop
	// working. ErrNotFound means that it is there no more.
	DeleteServiceAccount(ctx context.Context, orgName string, by identity.Actor, seen identity.ServiceAccount) error
	// RevokeServiceAccounts revokes all keys of service accounts of an organization.
	RevokeServiceAccounts(ctx context.Context, orgName string, by identity.Actor, accounts []identity.ServiceAccount) error
}

// Keys keeps the API keys of users and service accounts.
type Keys interface {
	// UserKeys is a user as the owner of keys, or ErrNotFound.
	UserKeys(ctx context.Context, name string) (identity.KeyOwner, error)
	// Keys returns the keys of an owner that work, those made first at the beginning.
	Keys(ctx context.Context, ownerID string) ([]evidence.Key, error)
	// Key returns a key of an owner that works, by its id, or ErrNotFound.
	Key(ctx context.Context, ownerID, id string) (evidence.Key, error)
	// IssueKey makes a key and returns it with its secret, which nothing can tell again.
	// ErrNotFound means that the owner is there no more.
	IssueKey(ctx context.Context, owner identity.KeyOwner, by identity.Actor, asked tenancy.NewKey) (evidence.Key, evidence.Secret, error)
	// RevokeKey revokes a key that works, by its id; else it returns ErrNotFound.
	RevokeKey(ctx context.Context, owner identity.KeyOwner, by identity.Actor, id string) error
	// RotateKey makes a new key in the place of one that works, by its id, which goes on
	// working for a grace period; else it returns ErrNotFound. The new key expires at expiresAt
	// (0 for never), nil for when the old one would. It returns the new key with its secret, and
	// from when on the old one does not work any more, in Unix seconds.
	RotateKey(ctx context.Context, owner identity.KeyOwner, by identity.Actor, id string, grace time.Duration, expiresAt *int64) (fresh evidence.Key, secret evidence.Secret, oldEnds int64, err error)
}

// IdentityProviders keeps the identity providers that organizations trust.
type IdentityProviders interface {
	// ListIdentityProviders returns those of an organization by name.
	ListIdentityProviders(ctx context.Context, orgID string) ([]identity.IdentityProvider, error)
	// IdentityProvider returns one by its name, or ErrNotFound.
	IdentityProvider(ctx context.Context, orgID, name string) (identity.IdentityProvider, error)
	// PutIdentityProvider creates one, or replaces the one of that name, and returns it. A
	// personal organization is Invalid.
	PutIdentityProvider(ctx context.Context, orgName string, by identity.Actor, provider identity.IdentityProvider) (stored identity.IdentityProvider, created bool, err error)
	// DeleteIdentityProvider deletes one, or returns ErrNotFound.
	DeleteIdentityProvider(ctx context.Context, orgName string, by identity.Actor, name string) error
}

// Actions keeps the actions of organizations.
type Actions interface {
	// Of returns all actions of an organization: one command.
	Of(ctx context.Context, org string) (notification.Actions, error)
	// Change changes the actions of an organization and returns them as they are then: two
	// commands. change may run more than once; its error is returned, and nothing is stored.
	Change(ctx context.Context, org evidence.OrgAccess, change func(*notification.Actions) error) (notification.Actions, error)
}

// Targets keeps what is known of the targets of actions.
type Targets interface {
	// States are those of the targets of actions of an organization: one command per
	// storage.MaxMany targets. A target that was not told yet has none.
	States(ctx context.Context, org string, actions ...notification.Action) (map[notifications.TargetKey]notification.TargetState, error)
	// SwitchOn has the targets of an action told again that were switched off: one command per
	// storage.MaxMany targets, and two for each of those.
	SwitchOn(ctx context.Context, org string, action notification.Action) error
	// RotateSecret gives a target a new signing secret and returns it, which nothing can tell
	// again. The former one signs beside it for a while. now is in Unix seconds.
	RotateSecret(ctx context.Context, org string, action int64, target string, now float64) (string, error)
	// Remove deletes what is known of some targets of an action.
	Remove(ctx context.Context, org string, action int64, targets ...notification.Target) error
}

// Deliveries keeps what targets of actions are told.
type Deliveries interface {
	// Add stores new deliveries; those that are there already stay as they are.
	Add(ctx context.Context, deliveries []notification.Delivery) error
	// Get returns a delivery of an organization, or ErrNotFound.
	Get(ctx context.Context, org, id string) (storage.Versioned[notification.Delivery], error)
	// Update changes a delivery of an organization and returns it, or ErrNotFound. change may
	// run more than once.
	Update(ctx context.Context, org, id string, change func(*notification.Delivery)) (notification.Delivery, error)
	// List reads a page of the deliveries of an action behind a cursor, newest first; those of
	// one state unless that is "".
	List(org string, action int64, state notification.State, after string, limit int) *storage.Batches[notification.Delivery]
	// Count returns how many deliveries an action has, at most storage.MaxCount.
	Count(ctx context.Context, org string, action int64) (int64, error)
}

// Environments reads environments.
type Environments interface {
	// ResolveMany looks environments up by name: one command for all of them. Unknown names, and
	// those of archived environments, are not in the answer.
	ResolveMany(ctx context.Context, org string, wanted []string) (map[string]environments.EnvironmentRef, error)
	// Names returns an organization's environments by id, archived ones too.
	Names(ctx context.Context, org string, ids []string) (map[string]evidence.Environment, error)
}

// Flows reads flows.
type Flows interface {
	// ResolveMany looks flows up by name: one command for all of them. Unknown names, and those
	// of archived flows, are passed over.
	ResolveMany(ctx context.Context, org string, wanted []string) ([]pipelines.FlowRef, error)
	// Names returns an organization's flows by id, archived ones too.
	Names(ctx context.Context, org string, ids []string) (map[string]evidence.Flow, error)
}
