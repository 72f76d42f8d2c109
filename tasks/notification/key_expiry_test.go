package notification_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/evidence/notification"
	"attestry/storage/tenancy"
	tasks "attestry/tasks/notification"
)

// keyScene is a scene with an organization that is notified of keys that expire.
type keyScene struct {
	*scene
	org   evidence.OrgAccess
	owner identity.KeyOwner
}

func newKeyScene(t *testing.T) *keyScene {
	s := newScene(t)
	_, err := s.store.Tenancy.ApplyBootstrap(t.Context(), identity.Bootstrap{
		Users:         []identity.DeclaredUser{{Name: "anna"}},
		Organizations: []identity.DeclaredOrganization{{Name: "acme", Members: map[string]evidence.Role{"anna": evidence.Admin}}},
	})
	s.must(err)
	org, err := s.store.Tenancy.Organization(t.Context(), "acme")
	s.must(err)
	account, err := s.store.Tenancy.CreateServiceAccount(t.Context(), "acme", anna, identity.ServiceAccount{Name: "ci", Privilege: evidence.Member})
	s.must(err)
	return &keyScene{s, evidence.OrgAccess{OrgID: org.ID, OrgName: "acme"},
		identity.KeyOwner{ID: account.ID, Name: "ci", OrgID: org.ID, OrgName: "acme", ServiceAccount: true}}
}

var anna = identity.Actor{Name: "anna", Source: identity.SourceApp}

func (s *keyScene) configure(detection string, targets ...notification.Target) {
	s.t.Helper()
	_, err := s.store.Actions.Change(s.t.Context(), s.org, func(all *notification.Actions) error {
		_, _, err := all.Put(notification.Action{
			Name: notification.KeyExpiryName, Kind: notification.OfKeys, Subjects: []string{s.org.OrgID}, Triggers: []notification.Trigger{notification.KeyExpires},
			Targets: targets, KeyExpiry: &notification.KeyExpiry{Detection: json.RawMessage(detection)}, CreatedAt: evidence.Seconds(s.clock.Now()),
		})
		return err
	})
	s.must(err)
}

// issue makes a key that expires after days, 0 for never.
func (s *keyScene) issue(description string, days int) evidence.Key {
	s.t.Helper()
	fresh := tenancy.NewKey{Description: description}
	if days > 0 {
		fresh.ExpiresAt = s.clock.Now().AddDate(0, 0, days).Unix()
	}
	key, _, err := s.store.Tenancy.IssueKey(s.t.Context(), s.owner, anna, fresh)
	s.must(err)
	return key
}

// told searches for keys, as each hour, and returns the descriptions of the keys of the notices that were sent.
func (s *keyScene) told() string {
	s.t.Helper()
	s.must(tasks.EnqueueExpiring(s.t.Context(), s.store, s.clock.Now()))
	s.relayAll()
	var keys []string
	for _, sent := range s.recipient.sent {
		_, after, _ := strings.Cut(sent.delivery.Notice.Description, "(")
		key, _, _ := strings.Cut(after, ")")
		keys = append(keys, string(sent.target.Type)+" "+key)
	}
	s.recipient.sent = nil
	return strings.Join(keys, ", ")
}

func (s *keyScene) wantTold(want string) {
	s.t.Helper()
	if got := s.told(); got != want {
		s.t.Errorf("told of %q, want %q", got, want)
	}
}

func TestKeysAreNotifiedOfOnceOnEachOfTheDaysBeforeTheyExpire(t *testing.T) {
	for name, c := range map[string]struct {
		detection string
		told      []int // on these days before the expiry
	}{
		"default":               {"", []int{30, 7, 1}},
		"other members":         {`{"kind":"x"}`, []int{30, 7, 1}},
		"days in any order":     {`{"days_before":[2,10,2]}`, []int{10, 2}},
		"one":                   {`{"days_before":[30]}`, []int{30}},
		"no days is no silence": {`{"days_before":[]}`, []int{30, 7, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newKeyScene(t)
			s.configure(c.detection, webhook("a"))
			s.issue("soon", 40)
			s.issue("never", 0)
			for left := 40; left >= -1; left-- {
				want := ""
				for _, day := range c.told {
					if day == left {
						want = "WEBHOOK soon"
					}
				}
				s.wantTold(want)
				s.wantTold("")
				s.clock.Advance(24 * time.Hour)
			}
		})
	}
}

func TestTargetsThatAreAddedLaterAreNotifiedOfKeysThatExpire(t *testing.T) {
	s := newKeyScene(t)
	s.issue("soon", 5)
	s.wantTold("")
	s.configure("", webhook("a"))
	s.wantTold("WEBHOOK soon")
	s.configure("", webhook("a"), chat("b"))
	s.wantTold("SLACK soon")
	s.wantTold("")
}

func TestKeysOfPeopleAreNotNotifiedOf(t *testing.T) {
	s := newKeyScene(t)
	s.configure("", webhook("a"))
	owner, err := s.store.Tenancy.UserKeys(t.Context(), "anna")
	s.must(err)
	_, _, err = s.store.Tenancy.IssueKey(t.Context(), owner, anna, tenancy.NewKey{Description: "own", ExpiresAt: s.clock.Now().AddDate(0, 0, 5).Unix()})
	s.must(err)
	s.wantTold("")
}

func TestKeysThatWereRevokedOrRotatedAreNotNotifiedOf(t *testing.T) {
	s := newKeyScene(t)
	s.configure("", webhook("a"))
	revoked, rotated := s.issue("revoked", 5), s.issue("rotated", 5)
	s.must(s.store.Tenancy.RevokeKey(t.Context(), s.owner, anna, revoked.ID))
	_, _, _, err := s.store.Tenancy.RotateKey(t.Context(), s.owner, anna, rotated.ID, time.Hour, 0)
	s.must(err)
	s.issue("other", 5)
	s.wantTold("WEBHOOK other")
}

func TestNoticeOfAKeySaysWhoseItIsAndWhenItExpires(t *testing.T) {
	s := newKeyScene(t)
	s.configure("", webhook("a"))
	key := s.issue("of the pipeline", 5)
	s.must(tasks.EnqueueExpiring(t.Context(), s.store, s.clock.Now()))
	s.relayAll()
	notice := s.recipient.sent[0].delivery.Notice
	want := "API key " + key.ID + " (of the pipeline) of the service account ci expires at " + time.Unix(key.ExpiresAt, 0).UTC().Format(time.RFC3339)
	if notice.EventType != "API_KEY_EXPIRES" || notice.Description != want || notice.Org != "acme" || notice.Link != "https://attestry.example.com/acme/settings" {
		t.Errorf("the notice is %+v", notice)
	}
}
