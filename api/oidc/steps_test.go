package oidc_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/identity"
)

func TestAForgedTokenTakesTheSameStepsInEveryOrganization(t *testing.T) {
	key := newEdKey(t, "key")
	issuer := newIssuer(t, key, newEdKey(t, "key")) // two keys of one id
	providers := trusted{"acme": {{Name: "ci", Issuer: issuer.server.URL, Audience: audience, Condition: condition}}, "other": nil}
	f := newFixtureOf(t, issuer, providers, clientFor(issuer))
	f.accept(t, key.sign(t, f.claims(nil))) // the keys are known
	checks := f.verifier.CountChecks()
	for name, forged := range map[string]string{
		"with a known key":   newEdKey(t, "key").sign(t, f.claims(nil)),
		"with an unknown id": newEdKey(t, "forged").sign(t, f.claims(nil)),
		"without an id":      newEdKey(t, "").sign(t, f.claims(nil)),
		"of another type":    newECKey(t, "key").sign(t, f.claims(nil)),
	} {
		for _, org := range []string{"acme", "other", "nowhere"} {
			t.Run(name+", "+org, func(t *testing.T) {
				f.clock.Advance(10 * time.Second) // the issuer's keys may be fetched again
				fetched := issuer.fetches()
				checks.Store(0)
				if _, err := f.verifier.Verify(t.Context(), org, forged); evidence.CodeOf(err) != evidence.Unauthorized {
					t.Fatal(err)
				}
				if got := issuer.fetches(); got[0] != fetched[0]+1 || got[1] != fetched[1]+1 {
					t.Errorf("fetched %v times before and %v behind", fetched, got)
				}
				if got := checks.Load(); got != 2*4 { // with the known keys, and with the fetched ones
					t.Errorf("%d checks", got)
				}
				checks.Store(0)
				if _, err := f.verifier.Verify(t.Context(), org, forged); evidence.CodeOf(err) != evidence.Unauthorized {
					t.Fatal(err)
				}
				if got := checks.Load(); got != 4 || issuer.fetches()[0] != fetched[0]+1 {
					t.Errorf("%d checks and %v fetches within the pause", got, issuer.fetches())
				}
			})
		}
		t.Run(name+", of an issuer that nobody trusts", func(t *testing.T) {
			lonely := newFixtureOf(t, issuer, trusted{}, clientFor(issuer))
			checks, fetched := lonely.verifier.CountChecks(), issuer.fetches()
			lonely.refuse(t, forged)
			if got := checks.Load(); got != 4 || issuer.fetches() != fetched {
				t.Errorf("%d checks, fetched %v times before and %v behind", got, fetched, issuer.fetches())
			}
		})
	}
}

func TestAGoodTokenOfAnotherOrganizationIsAnsweredLikeAForgedOne(t *testing.T) {
	key := newEdKey(t, "key")
	issuer := newIssuer(t, key)
	providers := trusted{"other": {{Name: "ci", Issuer: issuer.server.URL, Audience: audience, Condition: condition}}}
	f := newFixtureOf(t, issuer, providers, clientFor(issuer))
	if got := f.refuse(t, key.sign(t, f.claims(nil))); got.Reason != "the organization does not trust the issuer" || got.Provider != "" {
		t.Errorf("logged %+v", got)
	}
}

// manyIssuers serves n issuers on the paths of one server and makes a fixture that trusts them all. requests returns
// how often the discovery document of each was requested.
func manyIssuers(t *testing.T, n int, key signingKey) (f *fixture, names []string, requests func() map[string]int) {
	t.Helper()
	issuer := newIssuer(t, key)
	counts := map[string]int{}
	issuer.setFault(func(w http.ResponseWriter, r *http.Request) bool {
		name, found := strings.CutSuffix(r.URL.Path, "/.well-known/openid-configuration")
		if !found {
			return false
		}
		issuer.change(func() { counts[name]++ })
		fmt.Fprintf(w, `{"issuer": %q, "jwks_uri": %q}`, issuer.server.URL+name, issuer.server.URL+"/keys")
		return true
	})
	providers := trusted{}
	for i := range n {
		name := fmt.Sprintf("/%d", i)
		names = append(names, name)
		providers["acme"] = append(providers["acme"], identity.IdentityProvider{
			Name: name, Issuer: issuer.server.URL + name, Audience: audience, Condition: condition,
		})
	}
	f = newFixtureOf(t, issuer, providers, clientFor(issuer))
	return f, names, func() map[string]int {
		issuer.mu.Lock()
		defer issuer.mu.Unlock()
		return maps.Clone(counts)
	}
}

func TestEachOfManyIssuersIsFetchedOnce(t *testing.T) {
	key := newEdKey(t, "key")
	f, names, requests := manyIssuers(t, 600, key)
	for range 2 {
		for _, name := range names {
			f.accept(t, key.sign(t, f.claims(map[string]any{"iss": f.issuer.server.URL + name})))
		}
	}
	for name, n := range requests() {
		if n != 1 {
			t.Fatalf("issuer %s was asked %d times within ten seconds", name, n)
		}
	}
}

func TestAnIssuerEvictedFromTheCacheIsFetchedAgain(t *testing.T) {
	key := newEdKey(t, "key")
	f, names, requests := manyIssuers(t, 5, key)
	f.verifier.KeepAtMost(2 * 2048)
	for range 2 {
		for _, name := range names {
			f.accept(t, key.sign(t, f.claims(map[string]any{"iss": f.issuer.server.URL + name})))
		}
	}
	if got := requests()["/0"]; got != 2 {
		t.Errorf("the first issuer was asked %d times", got)
	}
}
