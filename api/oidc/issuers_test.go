package oidc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"attestry/evidence"
)

func TestKeysAreFetchedOnceAndUsedForAnHour(t *testing.T) {
	key := newEdKey(t, "key")
	f := newFixture(t, newIssuer(t, key))
	for range 59 {
		f.accept(t, key.sign(t, f.claims(nil)))
		f.clock.Advance(time.Minute)
	}
	if got := f.issuer.fetches(); got != [2]int32{1, 1} {
		t.Errorf("fetched %v times", got)
	}
	f.clock.Advance(time.Minute)
	f.accept(t, key.sign(t, f.claims(nil)))
	if got := f.issuer.fetches(); got != [2]int32{2, 2} {
		t.Errorf("fetched %v times after an hour", got)
	}
}

func TestANewKeyIsAcceptedAtOnce(t *testing.T) {
	old, added := newEdKey(t, "old"), newECKey(t, "new")
	f := newFixture(t, newIssuer(t, old))
	f.accept(t, old.sign(t, f.claims(nil)))
	f.issuer.publish(old, added)
	f.clock.Advance(10 * time.Second)
	f.accept(t, added.sign(t, f.claims(nil)))
	f.accept(t, old.sign(t, f.claims(nil)))
	if got := f.issuer.fetches(); got != [2]int32{2, 2} {
		t.Errorf("fetched %v times", got)
	}
}

func TestAReplacedKeyOfTheSameIDIsAcceptedAtOnce(t *testing.T) {
	old, added := newEdKey(t, "1"), newEdKey(t, "1")
	f := newFixture(t, newIssuer(t, old))
	f.accept(t, old.sign(t, f.claims(nil)))
	f.issuer.publish(added)
	f.clock.Advance(10 * time.Second)
	f.accept(t, added.sign(t, f.claims(nil)))
	f.refuse(t, old.sign(t, f.claims(nil)))
}

func TestTokensWithUnknownKeysFetchAtMostOnceInTenSeconds(t *testing.T) {
	key := newEdKey(t, "key")
	f := newFixture(t, newIssuer(t, key))
	good := key.sign(t, f.claims(nil))
	f.accept(t, good)
	for i := range 30 { // 10 of them every 10 seconds
		f.refuse(t, newEdKey(t, fmt.Sprint(i)).sign(t, f.claims(nil)))
		f.clock.Advance(time.Second)
		f.accept(t, good)
	}
	// At 0 s the keys were just fetched; then once at 10 s and once at 20 s.
	if got := f.issuer.fetches(); got != [2]int32{3, 3} {
		t.Errorf("fetched %v times", got)
	}
}

func TestARemovedKeyIsRefusedAfterAnHour(t *testing.T) {
	removed, kept := newEdKey(t, "removed"), newEdKey(t, "kept")
	f := newFixture(t, newIssuer(t, removed, kept))
	f.accept(t, removed.sign(t, f.claims(nil)))
	f.issuer.publish(kept)
	f.clock.Advance(time.Hour - time.Second)
	f.accept(t, removed.sign(t, f.claims(nil)))
	f.clock.Advance(time.Second)
	f.refuse(t, removed.sign(t, f.claims(nil)))
	f.accept(t, kept.sign(t, f.claims(nil)))
}

func TestTokensOfAnIssuerWithoutKeysAreRefused(t *testing.T) {
	key := newEdKey(t, "key")
	f := newFixture(t, newIssuer(t))
	f.refuse(t, key.sign(t, f.claims(nil)))
}

// down is a fault: the issuer answers 503.
func down(w http.ResponseWriter, _ *http.Request) bool {
	w.WriteHeader(http.StatusServiceUnavailable)
	return true
}

func TestKeysAreUsedForAnotherHourIfTheyCannotBeFetched(t *testing.T) {
	key := newEdKey(t, "key")
	f := newFixture(t, newIssuer(t, key))
	f.accept(t, key.sign(t, f.claims(nil)))
	f.issuer.setFault(down)
	f.clock.Advance(time.Hour)
	for range 60 {
		token := key.sign(t, f.claims(nil))
		f.accept(t, token)
		f.clock.Advance(time.Minute)
		if lines := f.logged(t, token); len(lines) != 1 || lines[0].Level != "WARN" {
			t.Fatalf("logged %+v", lines)
		}
	}
	token := key.sign(t, f.claims(nil))
	f.unavailable(t, token)
	f.issuer.setFault(nil)
	f.clock.Advance(10 * time.Second)
	f.accept(t, token)
}

func TestATokenWithAnUnknownKeyIsUnavailableWhileTheIssuerIsDown(t *testing.T) {
	key, added := newEdKey(t, "key"), newEdKey(t, "new")
	f := newFixture(t, newIssuer(t, key))
	f.accept(t, key.sign(t, f.claims(nil)))
	f.issuer.setFault(down)
	f.clock.Advance(10 * time.Second)
	f.unavailable(t, added.sign(t, f.claims(nil)))
	f.accept(t, key.sign(t, f.claims(nil)))
}

// at makes a fault that applies to one path.
func at(path string, answer http.HandlerFunc) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != path {
			return false
		}
		answer(w, r)
		return true
	}
}

func TestKeysOfAnUnreachableIssuerAreFetchedAgainAfterTenSeconds(t *testing.T) {
	const discovery, keys = "/.well-known/openid-configuration", "/keys"
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	text := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }
	}
	hangUp := func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			connection.Close()
		}
	}
	long := text(`{"keys": [], "issuer": "` + strings.Repeat("x", 70<<10) + `"}`)
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"status 500":            at(discovery, status(500)),
		"status 404":            at(discovery, status(404)),
		"status 500 of keys":    at(keys, status(500)),
		"no answer":             at(discovery, hangUp),
		"no answer with keys":   at(keys, hangUp),
		"not JSON":              at(discovery, text("<html>")),
		"keys that are no JSON": at(keys, text("<html>")),
		"keys that are none":    at(keys, text(`{"error": "not now"}`)),
		"a document too long":   at(discovery, long),
		"keys too long":         at(keys, long),
		"a redirect":            at(discovery, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/keys", http.StatusFound) }),
		"a redirect of keys":    at(keys, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusFound) }),
	} {
		t.Run(name, func(t *testing.T) {
			key := newEdKey(t, "key")
			f := newFixture(t, newIssuer(t, key))
			f.issuer.setFault(fault)
			token := key.sign(t, f.claims(nil))
			lines := f.unavailable(t, token)
			if len(lines) != 1 || lines[0].Level != "WARN" || lines[0].Message != "the keys of an identity provider cannot be fetched" ||
				lines[0].Issuer != f.issuer.server.URL || lines[0].Error == "" || len(lines[0].Error) > 600 {
				t.Errorf("logged %+v", lines)
			}
			asked := f.issuer.fetches()
			f.clock.Advance(10*time.Second - time.Nanosecond)
			if lines := f.unavailable(t, token); len(lines) != 0 {
				t.Errorf("logged %+v", lines)
			}
			if f.issuer.fetches() != asked {
				t.Error("it was asked again within 10 s")
			}
			f.issuer.setFault(nil)
			f.clock.Advance(time.Nanosecond)
			f.accept(t, token)
		})
	}
}

func TestAnIssuerThatIsNotAllowedIsUnavailable(t *testing.T) {
	key := newEdKey(t, "key")
	issuer := newIssuer(t, key)
	providers := trusted{"acme": {{Name: "ci", Issuer: issuer.server.URL, Audience: audience, Condition: condition}}}
	f := newFixtureOf(t, issuer, providers, clientAllowing(issuer))
	lines := f.unavailable(t, key.sign(t, f.claims(nil)))
	if len(lines) != 1 || !strings.Contains(lines[0].Error, "ATTESTRY_OUTBOUND_ALLOW") || issuer.connections.Load() != 0 {
		t.Errorf("logged %+v", lines)
	}
}

func TestAWrongDiscoveryDocumentIsARefusal(t *testing.T) {
	for name, c := range map[string]struct {
		member, value string
		reason        string
		keyFetches    int32
	}{
		"another issuer":    {"issuer", "https://ci.example.com", "the discovery document of the issuer is of another issuer", 0},
		"no issuer":         {"issuer", "", "the discovery document of the issuer is of another issuer", 0},
		"keys without TLS":  {"jwks_uri", "http://127.0.0.1/keys", "the discovery document of the issuer has no https URL as jwks_uri", 0},
		"no keys":           {"jwks_uri", "", "the discovery document of the issuer has no https URL as jwks_uri", 0},
		"keys in a file":    {"jwks_uri", "file:///etc/passwd", "the discovery document of the issuer has no https URL as jwks_uri", 0},
		"keys of no server": {"jwks_uri", "https:///keys", "the discovery document of the issuer has no https URL as jwks_uri", 0},
	} {
		t.Run(name, func(t *testing.T) {
			key := newEdKey(t, "key")
			f := newFixture(t, newIssuer(t, key))
			right := f.issuer.document[c.member]
			f.issuer.change(func() { f.issuer.document[c.member] = c.value })
			token := key.sign(t, f.claims(nil))
			for range 2 {
				if got := f.refuse(t, token); got.Reason != c.reason {
					t.Errorf("the reason is %q", got.Reason)
				}
			}
			if got := f.issuer.fetches(); got != [2]int32{1, c.keyFetches} {
				t.Errorf("fetched %v times", got)
			}
			f.issuer.change(func() { f.issuer.document[c.member] = right })
			f.clock.Advance(10 * time.Second)
			f.accept(t, token)
		})
	}
}

func TestOnlyKeysForSignaturesAreUsed(t *testing.T) {
	key, short, long := newRSAKey(t, "key", 2048), newRSAKey(t, "key", 1024), newRSAKey(t, "key", 2048)
	encryption, otherAlgorithm, private := key.public(), key.public(), key.public()
	encryption.Use, otherAlgorithm.Algorithm, private.Key = "enc", "RS512", key.private
	for name, c := range map[string]struct {
		signer signingKey
		keys   []any
		want   bool
	}{
		"good":                        {key, []any{key.public()}, true},
		"without use and algorithm":   {key, []any{jose.JSONWebKey{Key: key.private.Public(), KeyID: "key"}}, true},
		"beside keys of other types":  {key, []any{map[string]any{"kty": "AKP", "kid": "key"}, map[string]any{"kty": "OKP", "crv": "X25519", "x": "AA"}, 7, key.public()}, true},
		"beside one of the same id":   {key, []any{long.public(), key.public()}, true},
		"for encryption":              {key, []any{encryption}, false},
		"for another algorithm":       {key, []any{otherAlgorithm}, false},
		"private":                     {key, []any{private}, false},
		"too short":                   {short, []any{short.public()}, false},
		"symmetric":                   {key, []any{map[string]any{"kty": "oct", "kid": "key", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"}}, false},
		"Ed25519 of the wrong length": {key, []any{map[string]any{"kty": "OKP", "crv": "Ed25519", "kid": "key", "x": "AAAA"}}, false},
		"of another id":               {key, []any{signingKey{"other", key.algorithm, key.private}.public()}, false},
		"without an id":               {key, []any{signingKey{"", key.algorithm, key.private}.public()}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, newIssuer(t))
			f.issuer.change(func() { f.issuer.keys = map[string]any{"keys": c.keys} })
			token := c.signer.sign(t, f.claims(nil))
			if c.want {
				f.accept(t, token)
				return
			}
			if got := f.refuse(t, token); got.Reason != "no key of the issuer verifies the signature" {
				t.Errorf("the reason is %q", got.Reason)
			}
		})
	}
}

func TestConcurrentRequestsShareOneFetch(t *testing.T) {
	key := newEdKey(t, "key")
	f := newFixture(t, newIssuer(t, key))
	arrived, release := make(chan struct{}, 1), make(chan struct{})
	f.issuer.setFault(func(http.ResponseWriter, *http.Request) bool {
		select {
		case arrived <- struct{}{}:
		default:
		}
		<-release
		return false
	})
	token := key.sign(t, f.claims(nil))
	const requests = 50
	results := make([]error, requests)
	var begun, ended sync.WaitGroup
	begun.Add(requests)
	for i := range requests {
		ended.Go(func() {
			begun.Done()
			_, results[i] = f.verifier.Verify(t.Context(), "acme", token)
		})
	}
	begun.Wait()
	<-arrived
	close(release)
	ended.Wait()
	if err := errors.Join(results...); err != nil {
		t.Error(err)
	}
	if got := f.issuer.fetches(); got != [2]int32{1, 1} {
		t.Errorf("fetched %v times", got)
	}
}

func TestAFetchContinuesWhenTheRequestThatStartedItIsCanceled(t *testing.T) {
	key := newEdKey(t, "key")
	f := newFixture(t, newIssuer(t, key))
	arrived, release := make(chan struct{}), make(chan struct{})
	f.issuer.setFault(at("/keys", func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
		json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key.public()}})
	}))
	token := key.sign(t, f.claims(nil))
	verify := func(ctx context.Context) <-chan error {
		result := make(chan error, 1)
		go func() {
			_, err := f.verifier.Verify(ctx, "acme", token)
			result <- err
		}()
		return result
	}
	ctx, cancel := context.WithCancel(t.Context())
	first := verify(ctx)
	<-arrived
	second := verify(t.Context())
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled request got %v", err)
	}
	close(release)
	if err := <-second; err != nil {
		t.Errorf("the other request got %v", err)
	}
	if got := f.issuer.fetches(); got != [2]int32{1, 1} {
		t.Errorf("fetched %v times", got)
	}
}

// panicking is a transport that panics.
type panicking struct{}

func (panicking) RoundTrip(*http.Request) (*http.Response, error) { panic("out of range") }

func TestAPanicDuringAFetchFailsOnlyThatFetch(t *testing.T) {
	key := newEdKey(t, "key")
	issuer := newIssuer(t, key)
	providers := trusted{"acme": {{Name: "ci", Issuer: issuer.server.URL, Audience: audience, Condition: condition}}}
	f := newFixtureOf(t, issuer, providers, &http.Client{Transport: panicking{}})
	if lines := f.unavailable(t, key.sign(t, f.claims(nil))); len(lines) != 1 || !strings.HasPrefix(lines[0].Error, "it panicked: out of range\n") {
		t.Errorf("logged %+v", lines)
	}
}

func TestIssuersAreKeptApart(t *testing.T) {
	keys := []signingKey{newEdKey(t, "key"), newEdKey(t, "key")}
	first, second := newIssuer(t, keys[0]), newIssuer(t, keys[1])
	f := newFixtureOf(t, first, trusted{"acme": {
		{Name: "first", Issuer: first.server.URL, Audience: audience, Condition: condition, Privilege: evidence.Reader},
		{Name: "second", Issuer: second.server.URL, Audience: audience, Condition: condition, Privilege: evidence.Admin},
	}}, clientFor(first))
	// httptest gives all servers the same certificate.
	ofSecond := map[string]any{"iss": second.server.URL}
	if identity := f.accept(t, keys[0].sign(t, f.claims(nil))); identity.Provider.Name != "first" {
		t.Errorf("the provider is %s", identity.Provider.Name)
	}
	if identity := f.accept(t, keys[1].sign(t, f.claims(ofSecond))); identity.Provider.Name != "second" {
		t.Errorf("the provider is %s", identity.Provider.Name)
	}
	f.refuse(t, keys[0].sign(t, f.claims(ofSecond)))
	f.refuse(t, keys[1].sign(t, f.claims(nil)))
	if got := slices.Concat(sliceOf(first.fetches()), sliceOf(second.fetches())); !slices.Equal(got, []int32{1, 1, 1, 1}) {
		t.Errorf("fetched %v times", got)
	}
}

func sliceOf(fetches [2]int32) []int32 { return fetches[:] }
