package access

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/prometheus/client_golang/prometheus"

	"attestry/api/limits"
	"attestry/config"
	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage/tenancy"
	"attestry/storage/tenancy/tenancytest"
)

// newIdentities has the users "user one" and "user two" with the keys "one" and "two". They are members of acme, but
// not of other. acme has the service accounts prod and gatekeeper.
func newIdentities(t *testing.T) *tenancy.Tenancy {
	t.Helper()
	identities := tenancytest.Open(t, identity.Bootstrap{
		Users: []identity.DeclaredUser{tenancytest.User("user one", "one"), tenancytest.User("user two", "two")},
		Organizations: []identity.DeclaredOrganization{
			{Name: "acme", Members: map[string]evidence.Role{"user one": evidence.Member, "user two": evidence.Member}}, {Name: "other"},
		},
	}, nil)
	for _, name := range []string{"prod", "gatekeeper"} {
		account := identity.ServiceAccount{Name: name, Privilege: evidence.Member}
		if _, err := identities.CreateServiceAccount(t.Context(), "acme", identity.Operator(), account); err != nil {
			t.Fatal(err)
		}
	}
	return identities
}

func newMetrics() *limits.Metrics {
	return limits.NewMetrics(prometheus.NewRegistry(), config.Limits{}, time.Now)
}

// withAttempts is a gate that allows so many failed attempts of an address.
func withAttempts(t *testing.T, perMinute int) *Gate {
	t.Helper()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	return &Gate{Identities: newIdentities(t), Attempts: limits.NewAttempts(limits.AttemptsOptions{
		PerMinute: perMinute, Clock: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler), Metrics: newMetrics(),
	})}
}

// memoryBuckets are buckets that never drain.
type memoryBuckets map[string]int

func (b memoryBuckets) Allow(_ context.Context, name string, limit redis_rate.Limit) (*redis_rate.Result, error) {
	if b[name] == limit.Burst {
		return &redis_rate.Result{Limit: limit}, nil
	}
	b[name]++
	return &redis_rate.Result{Limit: limit, Allowed: 1, Remaining: limit.Burst - b[name]}, nil
}

func (memoryBuckets) Reset(context.Context, string) error { return nil }

// withRates is a gate that allows so many requests of each key and to each organization.
func withRates(t *testing.T, perKey, perOrganization int) *Gate {
	t.Helper()
	return &Gate{Identities: newIdentities(t), Rates: &limits.Rates{
		PerKey: perKey, PerOrganization: perOrganization, Buckets: memoryBuckets{},
		Clock: time.Now, Log: slog.New(slog.DiscardHandler), Metrics: newMetrics(),
	}}
}

// admit requests an operation for members with a key, from an address.
func admit(t *testing.T, gate *Gate, secret, address, org string) error {
	t.Helper()
	_, _, err := gate.Admit(t.Context(), Request{
		From: limits.Origin{Peer: netip.MustParseAddr(address)}, Authorization: "Bearer " + secret, Path: "/x", Org: org,
	}, Rule{OfOrg: true, MinRole: evidence.Member})
	return err
}

func TestValidKeysAreServedAtAnAddressWithTooManyFailedAttempts(t *testing.T) {
	gate := withAttempts(t, 3)
	for i := range 3 {
		if err := admit(t, gate, fmt.Sprint("wrong", i), "203.0.113.5", "acme"); evidence.CodeOf(err) != evidence.Unauthorized {
			t.Fatalf("wrong key %d: %v", i, err)
		}
	}
	for range 2 {
		for name, row := range map[string]struct {
			secret, address, org string
			code                 evidence.Code
		}{
			"wrong key":                        {"wrong", "203.0.113.5", "acme", evidence.RateLimited},
			"good key":                         {"two", "203.0.113.5", "acme", ""},
			"good key elsewhere":               {"two", "203.0.113.5", "other", evidence.Forbidden},
			"wrong key behind another address": {"wrong", "203.0.113.6", "acme", evidence.Unauthorized},
		} {
			if err := admit(t, gate, row.secret, row.address, row.org); evidence.CodeOf(err) != row.code {
				t.Errorf("%s: %v, want %q", name, err, row.code)
			}
		}
	}
	if err := gate.Identities.RemoveUser(t.Context(), "user two", identity.Operator()); err != nil {
		t.Fatal(err)
	}
	if err := admit(t, gate, "two", "203.0.113.5", "acme"); evidence.CodeOf(err) != evidence.RateLimited {
		t.Errorf("a key that was revoked: %v", err)
	}
}

func TestRequestsWithoutKeyAndRefusalsOfGoodKeysAreNoFailedAttempts(t *testing.T) {
	gate := withAttempts(t, 1)
	for range 5 {
		for _, header := range []string{"", "Bearer", "Token x"} {
			_, _, err := gate.Admit(t.Context(), Request{From: limits.Origin{Peer: netip.MustParseAddr("203.0.113.5")}, Authorization: header}, Rule{})
			if evidence.CodeOf(err) != evidence.Unauthorized {
				t.Errorf("%q: %v", header, err)
			}
		}
		if err := admit(t, gate, "one", "203.0.113.5", "other"); evidence.CodeOf(err) != evidence.Forbidden {
			t.Errorf("an organization of others: %v", err)
		}
	}
	if err := admit(t, gate, "wrong", "203.0.113.5", "acme"); evidence.CodeOf(err) != evidence.Unauthorized {
		t.Errorf("the first wrong key: %v", err)
	}
}

// limit counts a request of a key to an organization.
func limit(t *testing.T, gate *Gate, secret, orgID string) (limits.State, error) {
	t.Helper()
	return gate.Limit(t.Context(), evidence.Principal{UserID: "user", KeyID: "key " + secret}, evidence.OrgAccess{OrgID: orgID})
}

func TestRequestsCountForKeyAndOrganization(t *testing.T) {
	gate := withRates(t, 2, 3)
	for i, row := range []struct {
		secret, org string
		limit, left int
		code        evidence.Code
	}{
		{"one", "1", 2, 1, ""},
		{"one", "1", 2, 0, ""},
		{"one", "1", 2, 0, evidence.RateLimited},
		{"two", "1", 3, 0, ""},
		{"two", "1", 3, 0, evidence.RateLimited},
		{"three", "", 2, 1, ""},
		{"three", "2", 2, 0, ""},
	} {
		left, err := limit(t, gate, row.secret, row.org)
		if evidence.CodeOf(err) != row.code || left.Limit != row.limit || left.Remaining != row.left {
			t.Errorf("request %d: %+v, %v, want %d of %d and %q", i, left, err, row.left, row.limit, row.code)
		}
	}
}

func TestVisitorsOfAPublicOrganizationCountForTheirKeyOnly(t *testing.T) {
	gate := withRates(t, 2, 3)
	visit := func(key string) (limits.State, error) {
		return gate.Limit(t.Context(), evidence.Principal{UserID: "stranger", KeyID: key}, evidence.OrgAccess{OrgID: "1", Visitor: true})
	}
	for key := range 5 {
		for range 2 {
			if _, err := visit(fmt.Sprint(key)); err != nil {
				t.Fatalf("visitor %d: %v", key, err)
			}
		}
		if _, err := visit(fmt.Sprint(key)); evidence.CodeOf(err) != evidence.RateLimited {
			t.Errorf("visitor %d beyond the limit of its key: %v", key, err)
		}
	}
	left, err := limit(t, gate, "member", "1")
	if err != nil || left != (limits.State{Limit: 2, Remaining: 1}) {
		t.Errorf("a member has %+v, %v", left, err)
	}
	if left, err = limit(t, gate, "another member", "1"); err != nil || left != (limits.State{Limit: 2, Remaining: 1}) {
		t.Errorf("another member has %+v, %v", left, err)
	}
	if left, err = limit(t, gate, "third member", "1"); err != nil || left != (limits.State{Limit: 3}) {
		t.Errorf("the third member has %+v, %v", left, err)
	}
}

func TestGateWithoutLimitsLimitsNothing(t *testing.T) {
	gate := &Gate{Identities: newIdentities(t)}
	for range 1000 {
		if err := admit(t, gate, "wrong", "203.0.113.5", "acme"); evidence.CodeOf(err) != evidence.Unauthorized {
			t.Fatal(err)
		}
		if left, err := limit(t, gate, "one", "1"); err != nil || left != (limits.State{}) {
			t.Fatalf("%+v, %v", left, err)
		}
	}
}
