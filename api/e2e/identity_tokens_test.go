package e2e_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/identity"
)

// trust configures an issuer as an identity provider of the organization.
func (s *service) trust(name string, from *issuer, condition, privilege string) {
	s.t.Helper()
	body := fmt.Sprintf(`{"issuer":%q,"audience":%q,"condition":%s,"privilege":%q}`, from.url, audienceOfTokens, quoteJSON(condition), privilege)
	if got := s.do(http.MethodPut, "/api/v2/organizations/"+s.org+"/identity-providers/"+name, adminKey, []byte(body)); got.status > http.StatusCreated {
		s.t.Fatalf("status %d: %s", got.status, got.body)
	}
}

func TestAPipelineReportsWithATokenOfItsIssuer(t *testing.T) {
	t.Parallel()
	s := share(t)
	forge := newIssuer(t)
	path := "/api/v2/flows/" + s.org
	flow := []byte(`{"name":"shop","description":"","template":["artifact"]}`)
	good := forge.token(t, map[string]any{"repository": "acme/shop", "ref_protected": true})
	if got := s.do(http.MethodPut, path, good, flow); got.status != http.StatusUnauthorized || forge.requests.Load() != 0 {
		t.Fatalf("before the issuer is trusted: status %d, %d requests to the issuer", got.status, forge.requests.Load())
	}
	s.trust("forge", forge, `claims.repository == "acme/shop" and claims.ref_protected == "true"`, "member")
	if got := s.do(http.MethodPut, path, good, flow); got.status != http.StatusCreated {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	if got := s.form(http.MethodPut, "/trails/"+s.org+"/shop", good, "data_json", `{"name":"release"}`); got.status != http.StatusCreated {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	if got := s.form(http.MethodPost, "/attestations/"+s.org+"/shop/trail/release/generic", good, "data_json",
		`{"attestation_name":"scan","is_compliant":true}`); got.status != http.StatusCreated {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	recorded := s.read("/attestations/" + s.org + "/shop/trail/release/scan")
	if got, want := lookup(t, recorded, 0, "reported_by"), "oidc:"+forge.url+":repo:acme/shop"; got != want {
		t.Errorf("reported by %v, want %s", got, want)
	}
	const (
		unknown       = "A valid API key is required."
		otherAudience = "The audience of the token is not the one that the organization expects."
		otherClaims   = "The claims of the token do not meet the condition that the organization sets."
	)
	for name, c := range map[string]struct{ token, message string }{
		"of another branch":          {forge.token(t, map[string]any{"repository": "acme/shop", "ref_protected": false}), otherClaims},
		"without a claim":            {forge.token(t, map[string]any{"ref_protected": true}), otherClaims},
		"for another audience":       {forge.token(t, map[string]any{"aud": "elsewhere", "repository": "acme/shop", "ref_protected": true}), otherAudience},
		"expired":                    {forge.token(t, map[string]any{"exp": time.Now().Add(-time.Second).Unix(), "repository": "acme/shop", "ref_protected": true}), unknown},
		"without a subject":          {forge.token(t, map[string]any{"sub": "", "repository": "acme/shop", "ref_protected": true}), unknown},
		"of another issuer":          {newIssuer(t).token(t, map[string]any{"repository": "acme/shop", "ref_protected": true}), unknown},
		"signed by another issuer":   {newIssuer(t).token(t, map[string]any{"iss": forge.url, "repository": "acme/shop", "ref_protected": true}), unknown},
		"with a shortened signature": {good[:len(good)-4], unknown},
		"with a changed payload":     {strings.Replace(good, ".", ".e30", 1), unknown},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			wantProblem(t, s.do(http.MethodGet, path, c.token, nil), http.StatusUnauthorized, c.message, nil)
		})
	}
	t.Run("in other organizations", func(t *testing.T) {
		s := s.in(t)
		for _, org := range []string{s.public, "nowhere"} {
			wantProblem(t, s.do(http.MethodGet, "/api/v2/flows/"+org, good, nil), http.StatusUnauthorized, "A valid API key is required.", nil)
		}
		wantProblem(t, s.do(http.MethodGet, "/api/v2/user/default-org", good, nil), http.StatusUnauthorized, "A valid API key is required.", nil)
	})
	t.Run("operations of users only", func(t *testing.T) {
		s := s.in(t)
		if got := s.do(http.MethodPut, "/api/v2/user/"+s.org, good, []byte("null")); got.status != http.StatusForbidden {
			t.Errorf("status %d: %s", got.status, got.body)
		}
	})
	s.want(http.StatusOK, http.MethodDelete, "/organizations/"+s.org+"/identity-providers/forge", nil)
	wantProblem(t, s.do(http.MethodGet, path, good, nil), http.StatusUnauthorized, "A valid API key is required.", nil)
}

func TestAPIKeysMayHaveTheFormOfAToken(t *testing.T) {
	t.Parallel()
	s := share(t)
	forge := newIssuer(t)
	s.trust("forge", forge, "exists(claims.sub)", "admin")
	path := "/api/v2/flows/" + s.org
	for name, key := range map[string]string{
		"of the public API":           "eyJhbGciOiJIUzI1NiJ9." + base64.RawURLEncoding.EncodeToString([]byte(`{"org":"`+s.org+`"}`)) + ".c2lnbmF0dXJl",
		"signed by a known issuer":    forge.token(t, nil),
		"signed by an unknown issuer": newIssuer(t).token(t, nil),
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			declare := func(absent bool) {
				_, err := s.Process.Store.Tenancy.ApplyBootstrap(t.Context(), identity.Bootstrap{Users: []identity.DeclaredUser{{
					Name: "reader", Keys: []identity.DeclaredKey{{Secret: evidence.Secret(key), Description: "older", Absent: absent}},
				}}})
				s.must(err)
			}
			want := func(status int) {
				t.Helper()
				if got := s.do(http.MethodPut, path, key, []byte(`{"name":"shop","description":""}`)); got.status != status {
					t.Errorf("status %d, want %d: %s", got.status, status, got.body)
				}
			}
			declare(false)
			want(http.StatusForbidden) // as the reader, not as the issuer's administrator
			declare(true)
			want(http.StatusUnauthorized) // a key that was revoked does not become a token
		})
	}
}

func TestTokensOfAnUnreachableIssuerAreUnavailable(t *testing.T) {
	t.Parallel()
	s := share(t)
	forge := newIssuer(t)
	unreachable := &issuer{url: "https://127.0.0.1:1", key: forge.key}
	s.trust("unreachable", unreachable, "exists(claims.sub)", "reader")
	got := s.do(http.MethodGet, "/api/v2/flows/"+s.org, unreachable.token(t, nil), nil)
	if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
		t.Errorf("status %d, Retry-After %q: %s", got.status, got.header.Get("Retry-After"), got.body)
	}
}

func TestInvalidIdentityProvidersAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	for name, c := range map[string]struct {
		name, body, location, text string
	}{
		"http":        {"forge", `{"issuer":"http://forge.example.com","audience":"a","privilege":"member","condition":"claims.a == 'b'"}`, "issuer", "Input should be an https URL without user, query and fragment [input: http://forge.example.com]"},
		"no host":     {"forge", `{"issuer":"https://","audience":"a","privilege":"member","condition":"claims.a == 'b'"}`, "issuer", "Input should be an https URL without user, query and fragment [input: https://]"},
		"a password":  {"forge", `{"issuer":"https://u:p@forge.example.com","audience":"a","privilege":"member","condition":"claims.a == 'b'"}`, "issuer", "Input should be an https URL without user, query and fragment [input: https://u:p@forge.example.com]"},
		"for anybody": {"forge", `{"issuer":"https://forge.example.com","audience":"a","privilege":"member","condition":"true"}`, "condition", "the condition must not hold for a token without claims [input: true]"},
		"no boolean":  {"forge", `{"issuer":"https://forge.example.com","audience":"a","privilege":"member","condition":"claims.a"}`, "condition", "column 1: the result must be a boolean, not a string [input: claims.a]"},
		"flow":        {"forge", `{"issuer":"https://forge.example.com","audience":"a","privilege":"member","condition":"exists(flow)"}`, "condition", "column 8: 'flow' is unknown: there are claims.<name>, exists(), matches(), true, false, and, or, not, in [input: exists(flow)]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			got := s.do(http.MethodPut, "/api/v2/organizations/"+s.org+"/identity-providers/"+c.name, adminKey, []byte(c.body))
			wantProblem(t, got, http.StatusBadRequest, "Input payload validation failed", map[string]string{c.location: c.text})
		})
	}
	got := s.do(http.MethodPut, "/api/v2/organizations/administrator/identity-providers/forge", adminKey,
		[]byte(`{"issuer":"https://forge.example.com","audience":"a","privilege":"member","condition":"claims.a == 'b'"}`))
	wantProblem(t, got, http.StatusBadRequest, "Organization 'administrator' is personal and cannot have identity providers", nil)
}

func TestTryingATokenNamesTheUnmetClaim(t *testing.T) {
	t.Parallel()
	s := share(t)
	forge := newIssuer(t)
	s.trust("forge", forge, `claims.repository == "acme/shop" and claims.ref_protected == "true"`, "member")
	path := "/organizations/" + s.org + "/identity-providers/"
	for name, c := range map[string]struct{ token, want string }{
		"good":                 {forge.token(t, map[string]any{"repository": "acme/shop", "ref_protected": true}), `{"accepted":true,"subject":"repo:acme/shop"}`},
		"of another branch":    {forge.token(t, map[string]any{"repository": "acme/shop", "ref_protected": false}), `{"accepted":false,"reason":"the condition of the provider does not hold","subject":"repo:acme/shop","unmet":["claims.ref_protected == \"true\""]}`},
		"for another audience": {forge.token(t, map[string]any{"aud": "elsewhere"}), `{"accepted":false,"reason":"the claim aud does not contain the audience of the provider","subject":"repo:acme/shop"}`},
		"of another issuer":    {newIssuer(t).token(t, nil), `{"accepted":false,"reason":"the claim iss is not the issuer of the provider"}`},
		"expired":              {forge.token(t, map[string]any{"exp": time.Now().Add(-time.Second).Unix()}), `{"accepted":false,"reason":"the token has expired, or has no claim exp","subject":"repo:acme/shop"}`},
		"forged and expired":   {newIssuer(t).token(t, map[string]any{"iss": forge.url, "exp": time.Now().Add(-time.Second).Unix()}), `{"accepted":false,"reason":"no key of the issuer verifies the signature"}`},
		"not valid yet":        {forge.token(t, map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}), `{"accepted":false,"reason":"the token is not valid yet, or a registered claim has a wrong type","subject":"repo:acme/shop"}`},
		"without a subject":    {forge.token(t, map[string]any{"sub": "a\nb"}), `{"accepted":false,"reason":"the claim sub is missing, longer than 255 characters or not printable"}`},
		"no token":             {"secret", `{"accepted":false,"reason":"the token is not a signed JWT"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.want(http.StatusOK, http.MethodPost, path+"forge/try", []byte(`{"token":"`+c.token+`"}`))
			if string(got.body) != c.want {
				t.Errorf("%s", got.body)
			}
		})
	}
	s.want(http.StatusNotFound, http.MethodPost, path+"other/try", []byte(`{"token":"x"}`))
	s.want(http.StatusBadRequest, http.MethodPost, path+"forge/try", []byte(`{}`))
	if got := s.do(http.MethodPost, "/api/v2"+path+"forge/try", memberKey, []byte(`{"token":"x"}`)); got.status != http.StatusForbidden {
		t.Errorf("a member is answered %d", got.status)
	}
}
