package identity

import "attestry/evidence"

// AuditEvent is the event of an entry in the audit log.
type AuditEvent string

// The events. AuditChanged is a changed role, or another change of what the subject names.
const (
	AuditAdded   AuditEvent = "added"
	AuditChanged AuditEvent = "changed"
	AuditRemoved AuditEvent = "removed"
)

// AuditSource is the way by which a change was made.
type AuditSource string

// The sources. The API also declares scim, which this service never records.
const (
	// SourceApp is the API.
	SourceApp AuditSource = "app"
	// SourceInvitation is an accepted invitation. Its actor is the inviter.
	SourceInvitation AuditSource = "invitation"
	// SourceScript is the bootstrap file, or the operator's command.
	SourceScript AuditSource = "script"
)

// AuditSubject is what an entry is about.
type AuditSubject string

// The subjects.
const (
	AuditUser             AuditSubject = "user"
	AuditServiceAccount   AuditSubject = "service_account"
	AuditIdentityProvider AuditSubject = "identity_provider"
	// AuditInvitation is an invitation. The name is its id.
	AuditInvitation AuditSubject = "invitation"
	// AuditDatabase is the embedded database, after an operator accepted a loss. The name describes the lost data.
	AuditDatabase AuditSubject = "database"
	// AuditEnvironment is an environment whose admission settings were changed. The name describes the changes.
	AuditEnvironment AuditSubject = "environment"
	// AuditPeople is the file that maps accounts to people. The name has the stored version.
	AuditPeople AuditSubject = "people"
)

// Actor is who changes something.
type Actor struct {
	// ID is that of a principal, "" for the operator.
	ID string
	// Name is that of a principal, "" for the operator.
	Name   string
	Source AuditSource
	// Role is the role with which a principal was admitted, NoRole for others. A change is refused if the principal has
	// a lower one when it is made.
	Role    evidence.Role
	Account bool // whether the principal is a service account
}

// Principal is the principal of an actor.
func (a *Actor) Principal() evidence.Principal {
	return evidence.Principal{UserID: a.ID, Name: a.Name, ServiceAccount: a.Account}
}

// ActorOf is a principal, admitted with a role, as the actor of a change by the API. The role of a token of an identity
// provider is not checked again, as no membership has it.
func ActorOf(principal evidence.Principal, role evidence.Role) Actor {
	if principal.Federated {
		role = evidence.NoRole
	}
	return Actor{ID: principal.UserID, Name: principal.Name, Source: SourceApp, Role: role, Account: principal.ServiceAccount}
}

// Operator is the actor of bootstrap files and of the operator's command.
func Operator() Actor { return Actor{Source: SourceScript} }

// AuditEntry is one change of permissions in an organization (docs/semantics.md 2.7).
type AuditEntry struct {
	ID    string `json:"id"`
	OrgID string `json:"org_id"`
	// Time is float Unix seconds, later than that of the organization's previous entry.
	Time    float64      `json:"time"`
	Event   AuditEvent   `json:"event"`
	Source  AuditSource  `json:"source"`
	Subject AuditSubject `json:"subject"`
	// Name is that of the subject.
	Name string `json:"name"`
	// OldRole and NewRole are NoRole if there was none, or if the entry is about a key.
	OldRole evidence.Role `json:"old_role"`
	NewRole evidence.Role `json:"new_role"`
	// Key is set if the entry is about an API key of the subject.
	Key *AuditKey `json:"key,omitempty"`
	// LeftAccounts are the names of the service accounts that the user has created and can no longer manage.
	LeftAccounts []string `json:"left_accounts,omitempty"`
	// ChangedBy is the name of the actor, "" for the operator.
	ChangedBy string `json:"changed_by"`
}

// AuditKey is an API key in the audit log.
type AuditKey struct {
	ID          string `json:"id"`
	Description string `json:"description"`
}
