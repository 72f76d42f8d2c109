package oidc_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"io"
	"log"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"attestry/api/oidc"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/identity"
	"attestry/outbound"
	"attestry/storage"
	"attestry/storage/tenancy"
	"attestry/storage/tenancy/tenancytest"
)

const (
	audience = "https://attestry.example.com"
	// condition is true for all tokens of the fixture.
	condition = `exists(claims.sub)`

	wrongAudience  = "The audience of the token is not the one that the organization expects."
	wrongCondition = "The claims of the token do not meet the condition that the organization sets."
	// private is a claim that must not be logged.
	private = "this-claim-is-private"
)

// signingKey is a key of an issuer.
type signingKey struct {
	id        string
	algorithm jose.SignatureAlgorithm
	private   crypto.Signer
}

func newRSAKey(t *testing.T, id string, bits int) signingKey {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return signingKey{id, jose.RS256, private}
}

func newECKey(t *testing.T, id string) signingKey {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signingKey{id, jose.ES256, private}
}

func newEdKey(t *testing.T, id string) signingKey {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signingKey{id, jose.EdDSA, private}
}

// public returns the key as an issuer publishes it.
func (k signingKey) public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: k.private.Public(), KeyID: k.id, Algorithm: string(k.algorithm), Use: "sig"}
}

func (k signingKey) sign(t *testing.T, claims map[string]any) string {
	t.Helper()
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return signPayload(t, jose.SigningKey{Algorithm: k.algorithm, Key: k.private}, k.id, payload)
}

func signPayload(t *testing.T, key jose.SigningKey, id string, payload []byte) string {
	t.Helper()
	options := &jose.SignerOptions{}
	if id != "" {
		options = options.WithHeader("kid", id)
	}
	signer, err := jose.NewSigner(key, options)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// testIssuer is an issuer on loopback.
type testIssuer struct {
	server      *httptest.Server
	connections atomic.Int32
	discoveries atomic.Int32
	keyFetches  atomic.Int32

	mu sync.Mutex
	// document is the discovery document, keys the JSON Web Key Set.
	document map[string]any
	keys     any
	// fault answers a request instead if it returns true.
	fault func(http.ResponseWriter, *http.Request) bool
}

func newIssuer(t *testing.T, keys ...signingKey) *testIssuer {
	t.Helper()
	i := &testIssuer{}
	i.server = httptest.NewUnstartedServer(http.HandlerFunc(i.serve))
	i.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	i.server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			i.connections.Add(1)
		}
	}
	i.server.StartTLS()
	t.Cleanup(i.server.Close)
	i.document = map[string]any{"issuer": i.server.URL, "jwks_uri": i.server.URL + "/keys"}
	i.publish(keys...)
	return i
}

func (i *testIssuer) serve(w http.ResponseWriter, r *http.Request) {
	var answer any
	i.mu.Lock()
	fault := i.fault
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		i.discoveries.Add(1)
		answer = maps.Clone(i.document)
	case "/keys":
		i.keyFetches.Add(1)
		answer = i.keys
	}
	i.mu.Unlock()
	if fault != nil && fault(w, r) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(answer)
}

// publish replaces the keys.
func (i *testIssuer) publish(keys ...signingKey) {
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for _, key := range keys {
		set.Keys = append(set.Keys, key.public())
	}
	i.change(func() { i.keys = set })
}

func (i *testIssuer) change(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

func (i *testIssuer) setFault(fault func(http.ResponseWriter, *http.Request) bool) {
	i.change(func() { i.fault = fault })
}

// fetches returns how often the discovery document and the keys were requested.
func (i *testIssuer) fetches() [2]int32 { return [2]int32{i.discoveries.Load(), i.keyFetches.Load()} }

// trusted are the providers of organizations, by the name of the organization.
type trusted map[string][]identity.IdentityProvider

// open stores the providers directly: neither validation nor the limit of their number applies.
func (p trusted) open(t *testing.T, wrap func(storage.Documents) storage.Documents) *tenancy.Tenancy {
	t.Helper()
	return tenancytest.Open(t, identity.Bootstrap{}, func(docs storage.Documents) storage.Documents {
		schemas := tenancy.Schemas()
		at := slices.IndexFunc(schemas, func(s *storage.Schema) bool { return s.Name == "identity_providers" })
		var writes []storage.Write
		for org, providers := range p {
			for _, provider := range providers {
				body, err := json.Marshal(provider)
				if err != nil {
					t.Fatal(err)
				}
				writes = append(writes, storage.Write{Kind: storage.WritePut, Schema: schemas[at], Record: storage.Record{
					ID: org + "/" + provider.Name, Revision: 1, Body: body,
					Fields: map[string]any{"org": org, "org_name": org, "issuer": provider.Issuer, "name": provider.Name},
				}})
			}
		}
		if err := docs.Write(t.Context(), writes...); len(writes) > 0 && err != nil {
			t.Fatal(err)
		}
		if wrap != nil {
			return wrap(docs)
		}
		return docs
	})
}

// fixture is a verifier of the organization acme, which trusts an issuer.
type fixture struct {
	issuer   *testIssuer
	clock    *evidencetest.Clock
	log      *bytes.Buffer
	verifier *oidc.Verifier
}

// newFixture makes a verifier. Providers without an audience or a condition get those of the fixture. If there is no
// provider, it makes one.
func newFixture(t *testing.T, issuer *testIssuer, providers ...identity.IdentityProvider) *fixture {
	t.Helper()
	if len(providers) == 0 {
		providers = []identity.IdentityProvider{{Name: "ci", Privilege: evidence.Member}}
	}
	providers = slices.Clone(providers)
	for i := range providers {
		providers[i].OrgName, providers[i].Issuer = "acme", issuer.server.URL
		if providers[i].Audience == "" {
			providers[i].Audience = audience
		}
		if providers[i].Condition == "" {
			providers[i].Condition = condition
		}
	}
	return newFixtureOf(t, issuer, trusted{"acme": providers}, clientFor(issuer))
}

// clientFor returns a client that may connect to loopback and trusts the issuer's certificate.
func clientFor(issuer *testIssuer) *http.Client {
	return clientAllowing(issuer, netip.MustParsePrefix("127.0.0.0/8"))
}

func clientAllowing(issuer *testIssuer, allowed ...netip.Prefix) *http.Client {
	roots := x509.NewCertPool()
	roots.AddCert(issuer.server.Certificate())
	return outbound.NewClient(outbound.Options{Allowed: allowed, RootCAs: roots})
}

func newFixtureOf(t *testing.T, issuer *testIssuer, providers trusted, client *http.Client) *fixture {
	t.Helper()
	return newFixtureOver(t, issuer, providers.open(t, nil), client)
}

func newFixtureOver(t *testing.T, issuer *testIssuer, providers *tenancy.Tenancy, client *http.Client) *fixture {
	t.Helper()
	f := &fixture{issuer: issuer, clock: evidencetest.NewClock(time.Date(2026, time.May, 4, 10, 0, 0, 0, time.UTC)), log: &bytes.Buffer{}}
	log := slog.New(slog.NewJSONHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	f.verifier = oidc.NewVerifier(providers, client, f.clock.Now, log)
	return f
}

// claims returns the claims of a valid token with changes; a claim that is changed to nil is removed.
func (f *fixture) claims(changes map[string]any) map[string]any {
	now := f.clock.Now().Unix()
	claims := map[string]any{
		"iss": f.issuer.server.URL, "sub": "repo:acme/shop:ref:refs/heads/main", "aud": audience,
		"iat": now - 10, "nbf": now - 10, "exp": now + 300,
		"repository": "acme/shop", "ref_protected": true, "private": private,
	}
	for name, value := range changes {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	return claims
}

// line is a line of the log.
type line struct {
	Level    string `json:"level"`
	Message  string `json:"msg"`
	Org      string `json:"org"`
	Issuer   string `json:"issuer"`
	Provider string `json:"provider"`
	Subject  string `json:"subject"`
	Reason   string `json:"reason"`
	Error    string `json:"error"`
}

// logged returns the lines of the log and empties it. The log must contain nothing of the token but its issuer and
// subject.
func (f *fixture) logged(t *testing.T, token string) []line {
	t.Helper()
	text := f.log.String()
	f.log.Reset()
	for _, secret := range append(strings.Split(token, "."), token, private) {
		if secret != "" && strings.Contains(text, secret) {
			t.Errorf("the log holds %q: %s", secret, text)
		}
	}
	var lines []line
	for text := range strings.Lines(text) {
		var one line
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, one)
	}
	return lines
}

// accept expects a token to be accepted.
func (f *fixture) accept(t *testing.T, token string) oidc.Identity {
	t.Helper()
	identity, err := f.verifier.Verify(t.Context(), "acme", token)
	if err != nil {
		t.Fatalf("the token is refused: %v, %s", err, f.log)
	}
	return identity
}

// refuse expects a token to be refused like an unknown key, and returns what is logged.
func (f *fixture) refuse(t *testing.T, token string) line {
	t.Helper()
	return f.refuseWith(t, token, evidence.InvalidKeyMessage)
}

// refuseWith expects a token to be refused with a message, and returns what is logged.
func (f *fixture) refuseWith(t *testing.T, token, message string) line {
	t.Helper()
	_, err := f.verifier.Verify(t.Context(), "acme", token)
	var refused *evidence.Error
	if !isError(err, &refused) || refused.Code != evidence.Unauthorized || refused.Message != message || refused.Fields != nil || refused.RetryAfter != 0 {
		t.Fatalf("the error is %#v", err)
	}
	lines := f.logged(t, token)
	if len(lines) == 0 {
		t.Fatal("nothing is logged")
	}
	last := lines[len(lines)-1]
	if last.Level != "INFO" || last.Message != "identity token refused" || last.Org != "acme" || last.Reason == "" {
		t.Errorf("the log says %+v", last)
	}
	return last
}

// unavailable expects a token to be refused because the issuer is unreachable, and returns what is logged.
func (f *fixture) unavailable(t *testing.T, token string) []line {
	t.Helper()
	_, err := f.verifier.Verify(t.Context(), "acme", token)
	var refused *evidence.Error
	if !isError(err, &refused) || refused.Code != evidence.Unavailable || refused.RetryAfter != 10*time.Second {
		t.Fatalf("the error is %#v", err)
	}
	return f.logged(t, token)
}

// isError is errors.As without unwrapping: the answer must be this very error.
func isError(err error, target **evidence.Error) bool {
	found, ok := err.(*evidence.Error)
	*target = found
	return ok
}
