package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/evidence/notification"
	"attestry/storage/tenancy"
)

// StoreDeliveries stores completed deliveries of the first action to its first target, which are described by numbers.
// Each was created as many minutes after the same time as its number says.
func (s *Service) StoreDeliveries(state notification.State, numbers ...int) {
	s.T.Helper()
	start := evidence.Seconds(s.Clock.Read()) - 3600
	actions, err := s.Process.Store.Actions.Of(s.T.Context(), s.OrgID())
	s.Must(err)
	var all []notification.Delivery
	for _, number := range numbers {
		notice := notification.Notice{ID: notification.NoticeID(s.Org, fmt.Sprint(number)), EventType: notification.EventCompliant, Description: fmt.Sprint(number)}
		delivery := notification.NewDelivery(s.OrgID(), 1, &actions.All[0].Targets[0], notice, start+60*float64(number), 0)
		delivery.State, delivery.Due = state, 0
		all = append(all, delivery)
	}
	s.Must(s.Process.Store.Deliveries.Add(s.T.Context(), all))
}

// OrgActionsPath returns the path of the organization's actions.
func (s *Service) OrgActionsPath() string { return "/actions/" + s.Org }

// PutAction stores an action as a member. kind is "environments" or "flows".
func (s *Service) PutAction(status int, kind, body string) {
	s.T.Helper()
	got := s.Do(http.MethodPut, "/api/v2"+s.OrgActionsPath()+"/"+kind, MemberKey, []byte(body))
	if got.Status != status {
		s.T.Fatalf("status %d, want %d: %s", got.Status, status, got.Body)
	}
	if got.Text(s.T) != "OK" {
		s.T.Errorf("answered %s", got.Body)
	}
}

// DeadTarget is a webhook that refuses connections.
const DeadTarget = `{"type":"WEBHOOK","webhook":"http://127.0.0.1:1/hook"}`

// EnvActionBody returns the body of an action on environments with one trigger. targets are JSON objects.
func EnvActionBody(name, targets string, environments ...string) string {
	names, _ := json.Marshal(append([]string{}, environments...))
	return fmt.Sprintf(`{"name":%q,"targets":[%s],"environments":%s,"triggers":["ON_COMPLIANT_ENV"]}`, name, targets, names)
}

// AccountKey creates a service account and returns a key of it.
func (s *Service) AccountKey(org, name string, privilege evidence.Role) string {
	s.T.Helper()
	tenants := s.Process.Store.Tenancy
	account, err := tenants.CreateServiceAccount(s.T.Context(), org, identity.Operator(), identity.ServiceAccount{Name: name, Privilege: privilege})
	s.Must(err)
	owner := identity.KeyOwner{ID: account.ID, Name: name, OrgID: account.OrgID, OrgName: org, ServiceAccount: true}
	_, secret, err := tenants.IssueKey(s.T.Context(), owner, identity.Operator(), tenancy.NewKey{Description: "of a test"})
	s.Must(err)
	return secret.Reveal()
}

// InvitationLink matches the links of invitations: the organization and the secret.
var InvitationLink = regexp.MustCompile(`/-/invitations/([^/"]+)/([A-Z2-7]{26})`)

// InvitationOf returns the id and the secret of a created invitation.
func InvitationOf(t *testing.T, made Answer) (id, secret string) {
	t.Helper()
	link := InvitationLink.FindSubmatch(made.Body)
	if made.Status != http.StatusCreated || link == nil {
		t.Fatalf("status %d: %s", made.Status, made.Body)
	}
	return Lookup(t, made.Value(t), "id").(string), string(link[2])
}

// InvitationsPath returns the path of the invitations.
func (s *Service) InvitationsPath() string { return "/organizations/" + s.Org + "/invitations" }

// Invite creates an invitation as the administrator.
func (s *Service) Invite(body string) (id, secret string) {
	s.T.Helper()
	return InvitationOf(s.T, s.Want(http.StatusCreated, http.MethodPost, s.InvitationsPath(), []byte(body)))
}

const (
	RateExceeded    = "Rate limit exceeded, please try again later."
	TooManyAttempts = "Too many requests with invalid API keys, please try again later."
)

// Limited lists the flows of an organization and repeats that until a limit is applied: on a busy machine Redis may
// answer too late, and then requests are not limited for a while.
func (s *Service) Limited(org, key string) Answer {
	s.T.Helper()
	var got Answer
	Eventually(s.T, "a limit is applied", func() bool {
		if got = s.Do(http.MethodGet, "/api/v2/flows/"+org, key, nil); got.Header.Get("RateLimit-Limit") != "" {
			return true
		}
		s.Clock.Advance(time.Second)
		return false
	})
	return got
}

const (
	NoPermission      = "You don't have permission to access this resource"
	AccountNotFound   = "Service account not found"
	KeyNotFound       = "API key not found"
	InvalidKey        = "A valid API key is required."
	ValidationMessage = "Input payload validation failed"
)
