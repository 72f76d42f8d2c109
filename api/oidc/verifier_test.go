package oidc_test

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"attestry/api/oidc"
	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
	"attestry/storage/storagetest"
)

func TestGoodTokensAreAccepted(t *testing.T) {
	rsaKey, ecKey, edKey := newRSAKey(t, "rsa", 2048), newECKey(t, "ec"), newEdKey(t, "ed")
	issuer := newIssuer(t, rsaKey, ecKey, edKey)
	now := newFixture(t, issuer).clock.Now().Unix()
	for name, c := range map[string]struct {
		key     signingKey
		changes map[string]any
	}{
		"RS256":                        {rsaKey, nil},
		"ES256":                        {ecKey, nil},
		"EdDSA":                        {edKey, nil},
		"without the id of the key":    {signingKey{"", edKey.algorithm, edKey.private}, nil},
		"several audiences":            {edKey, map[string]any{"aud": []string{"other", audience}}},
		"without iat and nbf":          {edKey, map[string]any{"iat": nil, "nbf": nil}},
		"a clock 4 minutes ahead":      {edKey, map[string]any{"iat": now + 240, "nbf": now + 240}},
		"times with fractions":         {edKey, map[string]any{"iat": float64(now) - 0.5, "exp": float64(now) + 30.5}},
		"the longest subject":          {edKey, map[string]any{"sub": strings.Repeat("ü", 255)}},
		"a subject with blanks":        {edKey, map[string]any{"sub": "project path: acme/shop"}},
		"claims of the name of others": {edKey, map[string]any{"audience": "x", "expires": 1, "issuer": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, issuer)
			claims := f.claims(c.changes)
			token := c.key.sign(t, claims)
			if !oidc.IsToken(token) {
				t.Error("it does not look like a token")
			}
			identity := f.accept(t, token)
			if identity.Provider.Name != "ci" || identity.Subject != claims["sub"] {
				t.Errorf("the identity is %+v", identity)
			}
			if lines := f.logged(t, token); len(lines) != 0 {
				t.Errorf("logged %+v", lines)
			}
		})
	}
}

func TestInvalidTokensAreRefused(t *testing.T) {
	key, other := newEdKey(t, "key"), newEdKey(t, "key")
	issuer := newIssuer(t, key)
	now := newFixture(t, issuer).clock.Now().Unix()
	for name, c := range map[string]struct {
		key       signingKey
		changes   map[string]any
		condition string
		reason    string
		message   string // "" for that of unknown keys
	}{
		"signed with another key": {key: other, reason: "no key of the issuer verifies the signature"},
		"forged and expired":      {key: other, changes: map[string]any{"exp": now - 1}, reason: "no key of the issuer verifies the signature"},
		"wrong audience":          {changes: map[string]any{"aud": audience + "/"}, reason: "the claim aud does not contain the audience of the provider", message: wrongAudience},
		"no audience":             {changes: map[string]any{"aud": nil}, reason: "the claim aud does not contain the audience of the provider", message: wrongAudience},
		"audience of no text":     {changes: map[string]any{"aud": 7}, reason: "the token is not valid yet, or a registered claim has a wrong type"},
		"expired":                 {changes: map[string]any{"exp": now - 1}, reason: "the token has expired, or has no claim exp"},
		"expires now":             {changes: map[string]any{"exp": now}, reason: "the token has expired"},
		"no exp":                  {changes: map[string]any{"exp": nil}, reason: "the token has expired, or has no claim exp"},
		"exp of 0":                {changes: map[string]any{"exp": 0}, reason: "the token has expired, or has no claim exp"},
		"exp as a private text":   {changes: map[string]any{"exp": private}, reason: "the token is not valid yet, or a registered claim has a wrong type"},
		"exp in a far future":     {changes: map[string]any{"exp": int64(1) << 62}, reason: "the token expires after the year 2100"},
		"exp out of range":        {changes: map[string]any{"exp": json.Number("1e300")}, reason: "the token has expired, or has no claim exp"},
		"not valid yet":           {changes: map[string]any{"nbf": now + 301}, reason: "the token is not valid yet, or a registered claim has a wrong type"},
		"issued in the future":    {changes: map[string]any{"iat": now + 301, "exp": now + 900}, reason: "the claim iat is in the future or after exp"},
		"issued after its end":    {changes: map[string]any{"iat": now + 200, "exp": now + 100}, reason: "the claim iat is in the future or after exp"},
		"no subject":              {changes: map[string]any{"sub": nil}, reason: "the claim sub is missing, longer than 255 characters or not printable"},
		"empty subject":           {changes: map[string]any{"sub": ""}, reason: "the claim sub is missing, longer than 255 characters or not printable"},
		"subject too long":        {changes: map[string]any{"sub": strings.Repeat("x", 256)}, reason: "the claim sub is missing, longer than 255 characters or not printable"},
		"subject with a newline":  {changes: map[string]any{"sub": "a\nb"}, reason: "the claim sub is missing, longer than 255 characters or not printable"},
		"subject turned around":   {changes: map[string]any{"sub": "a\u202eb"}, reason: "the claim sub is missing, longer than 255 characters or not printable"},
		"subject of no text":      {changes: map[string]any{"sub": 7}, reason: "the token is not valid yet, or a registered claim has a wrong type"},
		"a second audience":       {changes: map[string]any{"aud": "other", "Aud": audience}, reason: "a claim has the name of a registered one in other case"},
		"a second subject":        {changes: map[string]any{"\u017fub": "other"}, reason: "a claim has the name of a registered one in other case"},
		"exp as a text":           {changes: map[string]any{"exp": fmt.Sprint(now + 300)}, reason: "the claim exp, nbf or iat is not a number"},
		"nbf as a text":           {changes: map[string]any{"nbf": fmt.Sprint(now)}, reason: "the claim exp, nbf or iat is not a number"},
		"nbf of null":             {changes: map[string]any{"nbf": json.RawMessage("null")}, reason: "the claim exp, nbf or iat is not a number"},
		"iat as a text":           {changes: map[string]any{"iat": fmt.Sprint(now)}, reason: "the claim exp, nbf or iat is not a number"},
		"11 levels":               {changes: map[string]any{"list": json.RawMessage(strings.Repeat("[", 10) + strings.Repeat("]", 10))}, reason: "the claims are nested too deep"},
		"claims of one name":      {changes: map[string]any{"a.b": private, "a": map[string]any{"b": "x"}}, reason: "two claims have the same name when nested names are joined"},
		"unknown issuer":          {changes: map[string]any{"iss": "https://ci.example.com"}, reason: "no organization trusts the issuer"},
		"issuer with a slash":     {changes: map[string]any{"iss": issuer.server.URL + "/"}, reason: "no organization trusts the issuer"},
		"issuer in capitals":      {changes: map[string]any{"iss": strings.ToUpper(issuer.server.URL)}, reason: "no organization trusts the issuer"},
		"issuer without TLS":      {changes: map[string]any{"iss": strings.Replace(issuer.server.URL, "https", "http", 1)}, reason: "the issuer is not an https URL"},
		"issuer with a password":  {changes: map[string]any{"iss": "https://user:password@ci.example.com"}, reason: "the issuer is not an https URL"},
		"issuer too long":         {changes: map[string]any{"iss": "https://ci.example.com/" + strings.Repeat("x", 2048)}, reason: "the issuer is not an https URL"},
		"no issuer":               {changes: map[string]any{"iss": nil}, reason: "the issuer is not an https URL"},
		"issuer of no text":       {changes: map[string]any{"iss": 7}, reason: "the claims are not a JSON object with a text iss"},
		"condition false":         {condition: `claims.repository == "acme/web"`, reason: "the condition of the provider does not hold", message: wrongCondition},
		"condition of no claim":   {condition: `claims.environment == "prod"`, reason: "the condition of the provider does not hold", message: wrongCondition},
		"condition error":         {condition: `claims.private < 3`, reason: "the condition of the provider compares a number with a claim that is none", message: wrongCondition},
		"condition not valid":     {condition: `flow.name == "x"`, reason: "the condition of the provider is not valid: column 1: 'flow.name' is unknown: there are claims.<name>, exists(), matches(), true, false, and, or, not, in"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, issuer, identity.IdentityProvider{Name: "ci", Privilege: evidence.Admin, Condition: c.condition})
			signer := key
			if c.key.private != nil {
				signer = c.key
			}
			if got := f.refuseWith(t, signer.sign(t, f.claims(c.changes)), cmp.Or(c.message, evidence.InvalidKeyMessage)); got.Reason != c.reason {
				t.Errorf("the reason is %q", got.Reason)
			}
		})
	}
}

func TestForgedAndMalformedTokensAreRefused(t *testing.T) {
	rsaKey, ecKey := newRSAKey(t, "rsa", 2048), newECKey(t, "ec")
	issuer := newIssuer(t, rsaKey, ecKey)
	f := newFixture(t, issuer)
	payload, err := json.Marshal(f.claims(nil))
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(rsaKey.private.Public())
	if err != nil {
		t.Fatal(err)
	}
	published, err := json.Marshal(rsaKey.public())
	if err != nil {
		t.Fatal(err)
	}
	large, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	good := rsaKey.sign(t, f.claims(nil))
	parts := strings.Split(good, ".")
	elliptical := strings.Split(ecKey.sign(t, f.claims(nil)), ".")
	for name, token := range map[string]string{
		"empty":                        "",
		"an API key":                   evidence.NewAPIKey().Reveal(),
		"alg none without signature":   encode([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".",
		"alg none with signature":      encode([]byte(`{"alg":"none","kid":"rsa"}`)) + "." + parts[1] + "." + parts[2],
		"HS256 with the DER":           signPayload(t, jose.SigningKey{Algorithm: jose.HS256, Key: der}, "rsa", payload),
		"HS256 with the JWK":           signPayload(t, jose.SigningKey{Algorithm: jose.HS256, Key: published}, "rsa", payload),
		"RS512":                        signPayload(t, jose.SigningKey{Algorithm: jose.RS512, Key: rsaKey.private}, "rsa", payload),
		"PS256":                        signPayload(t, jose.SigningKey{Algorithm: jose.PS256, Key: rsaKey.private}, "rsa", payload),
		"ES384":                        signPayload(t, jose.SigningKey{Algorithm: jose.ES384, Key: large}, "ec", payload),
		"ES256 with the key of RS256":  encode([]byte(`{"alg":"ES256","kid":"rsa"}`)) + "." + elliptical[1] + "." + elliptical[2],
		"RS256 with the key of ES256":  encode([]byte(`{"alg":"RS256","kid":"ec"}`)) + "." + parts[1] + "." + parts[2],
		"an embedded key":              signEmbedded(t, payload),
		"a changed payload":            parts[0] + "." + encode([]byte(strings.Replace(string(payload), "acme/shop", "acme/best", 1))) + "." + parts[2],
		"a payload that is no object":  signPayload(t, jose.SigningKey{Algorithm: jose.RS256, Key: rsaKey.private}, "rsa", []byte(`"x"`)),
		"a payload that is no Unicode": signPayload(t, jose.SigningKey{Algorithm: jose.RS256, Key: rsaKey.private}, "rsa", []byte(strings.Replace(string(payload), "acme", `\ud800`, 1))),
		"no signature":                 parts[0] + "." + parts[1],
		"an empty signature":           parts[0] + "." + parts[1] + ".",
		"four parts":                   good + "." + parts[2],
		"padding":                      good + "=",
		"a line break":                 good + "\n",
		"longer than allowed":          rsaKey.sign(t, f.claims(map[string]any{"long": strings.Repeat("x", oidc.MaxTokenLength)})),
	} {
		t.Run(name, func(t *testing.T) {
			f.clock.Advance(time.Second)
			f.refuse(t, token)
		})
	}
	f.accept(t, good)
}

func TestRepeatedJSONKeysAreRefused(t *testing.T) {
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	key := signingKey{"key", jose.EdDSA, private}
	f := newFixture(t, newIssuer(t, key))
	const header = `{"alg":"EdDSA","kid":"key"}`
	claims, err := json.Marshal(f.claims(map[string]any{"nested": map[string]any{"list": []any{map[string]any{"a": 1}}}}))
	if err != nil {
		t.Fatal(err)
	}
	sign := func(header, claims string) string {
		encode := base64.RawURLEncoding.EncodeToString
		signed := encode([]byte(header)) + "." + encode([]byte(claims))
		return signed + "." + encode(ed25519.Sign(private, []byte(signed)))
	}
	f.accept(t, sign(header, string(claims)))
	for name, token := range map[string]string{
		"sub":                sign(header, strings.Replace(string(claims), `{`, `{"sub":"someone else",`, 1)),
		"aud, escaped":       sign(header, strings.Replace(string(claims), `{`, `{"\u0061ud":"elsewhere",`, 1)),
		"deep in a claim":    sign(header, strings.Replace(string(claims), `{"a":1}`, `{"a":1,"a":1}`, 1)),
		"kid in the header":  sign(`{"alg":"EdDSA","kid":"x","kid":"key"}`, string(claims)),
		"deep in the header": sign(`{"alg":"EdDSA","kid":"key","more":[{"a":1,"a":2}]}`, string(claims)),
	} {
		t.Run(name, func(t *testing.T) {
			want := "the claims have a key twice"
			if strings.HasSuffix(name, "header") {
				want = "the token is malformed"
			}
			if got := f.refuse(t, token); got.Reason != want {
				t.Errorf("the reason is %q", got.Reason)
			}
		})
	}
}

// signEmbedded signs with a new key and embeds that key in the header.
func signEmbedded(t *testing.T, payload []byte) string {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: private}, &jose.SignerOptions{EmbedJWK: true})
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

func TestTheProviderWithTheGreatestPrivilegeIsChosen(t *testing.T) {
	key := newEdKey(t, "key")
	issuer := newIssuer(t, key)
	provider := func(name string, privilege evidence.Role, condition string) identity.IdentityProvider {
		return identity.IdentityProvider{Name: name, Privilege: privilege, Condition: condition}
	}
	ofOther := identity.IdentityProvider{Name: "other", Privilege: evidence.Admin, Audience: "other"}
	for name, c := range map[string]struct {
		providers []identity.IdentityProvider
		want      string
	}{
		"one":                     {[]identity.IdentityProvider{provider("ci", evidence.Reader, "")}, "ci"},
		"the greatest":            {[]identity.IdentityProvider{provider("a", evidence.Reader, ""), provider("b", evidence.Admin, ""), provider("c", evidence.Member, "")}, "b"},
		"by its condition":        {[]identity.IdentityProvider{provider("a", evidence.Admin, `claims.repository == "x"`), provider("b", evidence.Reader, ""), provider("c", evidence.Member, `claims.repository == "acme/shop" and claims.ref_protected == "true"`)}, "c"},
		"by its audience":         {[]identity.IdentityProvider{ofOther, provider("b", evidence.Reader, "")}, "b"},
		"beside a faulty one":     {[]identity.IdentityProvider{provider("a", evidence.Admin, `claims.`), provider("b", evidence.Admin, "claims.sub < 3"), provider("c", evidence.Snapshotter, "")}, "c"},
		"the first of equal ones": {[]identity.IdentityProvider{provider("b", evidence.Member, ""), provider("a", evidence.Member, "")}, "a"},
		"none":                    {[]identity.IdentityProvider{ofOther, provider("b", evidence.Reader, "false")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, issuer, c.providers...)
			token := key.sign(t, f.claims(nil))
			if c.want == "" {
				if got := f.refuseWith(t, token, wrongCondition); got.Provider != "other, b" || got.Subject != "repo:acme/shop:ref:refs/heads/main" || got.Issuer != issuer.server.URL {
					t.Errorf("the log says %+v", got)
				}
				return
			}
			if identity := f.accept(t, token); identity.Provider.Name != c.want || identity.Provider.OrgName != "acme" {
				t.Errorf("the provider is %+v", identity.Provider)
			}
		})
	}
}

func TestProvidersThatRefuseATokenAreLogged(t *testing.T) {
	key := newEdKey(t, "key")
	issuer := newIssuer(t, key)
	f := newFixture(t, issuer, identity.IdentityProvider{Name: "a", Condition: "false"}, identity.IdentityProvider{Name: "b", Audience: "other"})
	token := key.sign(t, f.claims(nil))
	if _, err := f.verifier.Verify(t.Context(), "acme", token); evidence.CodeOf(err) != evidence.Unauthorized {
		t.Fatalf("got %v", err)
	}
	lines := f.logged(t, token)
	reasons := "the condition of the provider does not hold; the claim aud does not contain the audience of the provider"
	if len(lines) != 1 || lines[0].Provider != "a, b" || lines[0].Reason != reasons {
		t.Errorf("logged %+v", lines)
	}
	f.clock.Advance(time.Hour)
	if line := f.refuse(t, token); line.Provider != "a, b" || line.Subject != "" {
		t.Errorf("logged %+v", line)
	}
}

func TestLongIssuersAreLoggedTruncated(t *testing.T) {
	key := newEdKey(t, "key")
	f := newFixture(t, newIssuer(t, key))
	issuer := "https://ci.example.com/" + strings.Repeat("x", 2000)
	if got := f.refuse(t, key.sign(t, f.claims(map[string]any{"iss": issuer}))); got.Issuer != issuer[:256] {
		t.Errorf("logged %s", got.Issuer)
	}
}

func TestAProviderWithoutAnAudienceTrustsNobody(t *testing.T) {
	key := newEdKey(t, "key")
	issuer := newIssuer(t, key)
	providers := trusted{"acme": {{Name: "ci", Issuer: issuer.server.URL, Condition: condition, Privilege: evidence.Admin}}}
	f := newFixtureOf(t, issuer, providers, clientFor(issuer))
	f.refuseWith(t, key.sign(t, f.claims(map[string]any{"aud": ""})), wrongAudience)
	f.refuseWith(t, key.sign(t, f.claims(map[string]any{"aud": nil})), wrongAudience)
}

func TestAProviderWithoutAConditionAcceptsNoToken(t *testing.T) {
	key := newEdKey(t, "key")
	issuer := newIssuer(t, key)
	providers := trusted{"acme": {{Name: "ci", Issuer: issuer.server.URL, Audience: audience, Privilege: evidence.Admin}}}
	f := newFixtureOf(t, issuer, providers, clientFor(issuer))
	if got := f.refuse(t, key.sign(t, f.claims(nil))); !strings.HasPrefix(got.Reason, "the condition of the provider is not valid: ") {
		t.Errorf("the reason is %q", got.Reason)
	}
}

func TestNothingIsFetchedForAnIssuerThatIsNotTrusted(t *testing.T) {
	key := newEdKey(t, "key")
	issuer := newIssuer(t, key)
	f := newFixtureOf(t, issuer, trusted{"other": {{Name: "ci", Issuer: "https://ci.example.com", Audience: audience, Condition: condition}}}, clientFor(issuer))
	f.refuse(t, key.sign(t, f.claims(nil)))
	if n := issuer.connections.Load(); n != 0 {
		t.Errorf("%d connections were opened", n)
	}
	// This issuer is trusted, but these tokens are refused before their signatures are verified.
	f = newFixture(t, issuer)
	for _, token := range []string{
		signPayload(t, jose.SigningKey{Algorithm: jose.HS256, Key: make([]byte, 32)}, "key", []byte(`{"iss":"`+issuer.server.URL+`"}`)),
		key.sign(t, f.claims(map[string]any{"iss": strings.Replace(issuer.server.URL, "https", "http", 1)})),
	} {
		f.refuse(t, token)
	}
	if n := issuer.connections.Load(); n != 0 {
		t.Errorf("%d connections were opened", n)
	}
}

func TestErrorsOfTheStoreAreNoRefusals(t *testing.T) {
	key := newEdKey(t, "key")
	issuer := newIssuer(t, key)
	broken := errors.New("the database does not answer")
	f := newFixtureOver(t, issuer, trusted{}.open(t, func(docs storage.Documents) storage.Documents {
		return &storagetest.Interceptor{Documents: docs, Around: func(storagetest.Command, func() error) error { return broken }}
	}), clientFor(issuer))
	token := key.sign(t, f.claims(nil))
	if _, err := f.verifier.Verify(t.Context(), "acme", token); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if lines := f.logged(t, token); len(lines) != 0 {
		t.Errorf("logged %+v", lines)
	}
}
