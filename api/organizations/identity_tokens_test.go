package organizations_test

import (
	"encoding/base64"
	"net/http"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/api/apitest/peers"
	"attestry/evidence"
	"attestry/evidence/identity"
)

func TestAPipelineReportsWithATokenOfItsIssuer(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	forge := peers.NewIssuer(t)
	path := "/api/v2/flows/" + s.Org
	flow := []byte(`{"name":"shop","description":"","template":["artifact"]}`)
	good := forge.Token(t, map[string]any{"repository": "acme/shop", "ref_protected": true})
	if got := s.Do(http.MethodPut, path, good, flow); got.Status != http.StatusUnauthorized || forge.Requests.Load() != 0 {
		t.Fatalf("before the issuer is trusted: status %d, %d requests to the issuer", got.Status, forge.Requests.Load())
	}
	peers.Trust(s, "forge", forge, `claims.repository == "acme/shop" and claims.ref_protected == "true"`, "member")
	if got := s.Do(http.MethodPut, path, good, flow); got.Status != http.StatusCreated {
		t.Fatalf("status %d: %s", got.Status, got.Body)
	}
	if got := s.Form(http.MethodPut, "/trails/"+s.Org+"/shop", good, "data_json", `{"name":"release"}`); got.Status != http.StatusCreated {
		t.Fatalf("status %d: %s", got.Status, got.Body)
	}
	if got := s.Form(http.MethodPost, "/attestations/"+s.Org+"/shop/trail/release/generic", good, "data_json",
		`{"attestation_name":"scan","is_compliant":true}`); got.Status != http.StatusCreated {
		t.Fatalf("status %d: %s", got.Status, got.Body)
	}
	recorded := s.Read("/attestations/" + s.Org + "/shop/trail/release/scan")
	if got, want := apitest.Lookup(t, recorded, 0, "reported_by"), "oidc:"+forge.URL+":repo:acme/shop"; got != want {
		t.Errorf("reported by %v, want %s", got, want)
	}
	const (
		unknown       = "A valid API key is required."
		otherAudience = "The audience of the token is not the one that the organization expects."
		otherClaims   = "The claims of the token do not meet the condition that the organization sets."
	)
	apitest.Each(s, map[string]struct{ token, message string }{
		"of another branch":        {forge.Token(t, map[string]any{"repository": "acme/shop", "ref_protected": false}), otherClaims},
		"for another audience":     {forge.Token(t, map[string]any{"aud": "elsewhere", "repository": "acme/shop", "ref_protected": true}), otherAudience},
		"signed by another issuer": {peers.NewIssuer(t).Token(t, map[string]any{"iss": forge.URL, "repository": "acme/shop", "ref_protected": true}), unknown},
	}, func(s *apitest.Service, _ string, c struct{ token, message string }) {
		apitest.WantProblem(s.T, s.Do(http.MethodGet, path, c.token, nil), http.StatusUnauthorized, c.message, nil)
	})
	t.Run("in other organizations", func(t *testing.T) {
		s := s.In(t)
		for _, org := range []string{s.Public, "nowhere"} {
			apitest.WantProblem(t, s.Do(http.MethodGet, "/api/v2/flows/"+org, good, nil), http.StatusUnauthorized, "A valid API key is required.", nil)
		}
		apitest.WantProblem(t, s.Do(http.MethodGet, "/api/v2/user/default-org", good, nil), http.StatusUnauthorized, "A valid API key is required.", nil)
	})
	t.Run("operations of users only", func(t *testing.T) {
		s := s.In(t)
		apitest.WantAnswer(t, s.Do(http.MethodPut, "/api/v2/user/"+s.Org, good, []byte("null")), http.StatusForbidden)
	})
	s.Want(http.StatusOK, http.MethodDelete, "/organizations/"+s.Org+"/identity-providers/forge", nil)
	apitest.WantProblem(t, s.Do(http.MethodGet, path, good, nil), http.StatusUnauthorized, "A valid API key is required.", nil)
}

func TestAPIKeysMayHaveTheFormOfAToken(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	forge := peers.NewIssuer(t)
	peers.Trust(s, "forge", forge, "exists(claims.sub)", "admin")
	path := "/api/v2/flows/" + s.Org
	apitest.Each(s, map[string]string{
		"of the public API":           "eyJhbGciOiJIUzI1NiJ9." + base64.RawURLEncoding.EncodeToString([]byte(`{"org":"`+s.Org+`"}`)) + ".c2lnbmF0dXJl",
		"signed by a known issuer":    forge.Token(t, nil),
		"signed by an unknown issuer": peers.NewIssuer(t).Token(t, nil),
	}, func(s *apitest.Service, _, key string) {
		declare := func(absent bool) {
			_, err := s.Process.Store.Tenancy.ApplyBootstrap(s.T.Context(), identity.Bootstrap{Users: []identity.DeclaredUser{{
				Name: "reader", Keys: []identity.DeclaredKey{{Secret: evidence.Secret(key), Description: "older", Absent: absent}},
			}}})
			s.Must(err)
		}
		want := func(status int) {
			s.T.Helper()
			apitest.WantAnswer(s.T, s.Do(http.MethodPut, path, key, []byte(`{"name":"shop","description":""}`)), status)
		}
		declare(false)
		want(http.StatusForbidden) // as the reader, not as the issuer's administrator
		declare(true)
		want(http.StatusUnauthorized) // a key that was revoked does not become a token
	})
}

func TestInvalidIdentityProvidersAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	type testCase struct {
		name, body, location, text string
	}
	apitest.Each(s, map[string]testCase{
		"http":        {"forge", `{"issuer":"http://forge.example.com","audience":"a","privilege":"member","condition":"claims.a == 'b'"}`, "issuer", "Input should be an https URL without user, query and fragment [input: http://forge.example.com]"},
		"no host":     {"forge", `{"issuer":"https://","audience":"a","privilege":"member","condition":"claims.a == 'b'"}`, "issuer", "Input should be an https URL without user, query and fragment [input: https://]"},
		"a password":  {"forge", `{"issuer":"https://u:p@forge.example.com","audience":"a","privilege":"member","condition":"claims.a == 'b'"}`, "issuer", "Input should be an https URL without user, query and fragment [input: https://u:p@forge.example.com]"},
		"for anybody": {"forge", `{"issuer":"https://forge.example.com","audience":"a","privilege":"member","condition":"true"}`, "condition", "the condition must not hold for a token without claims [input: true]"},
		"no boolean":  {"forge", `{"issuer":"https://forge.example.com","audience":"a","privilege":"member","condition":"claims.a"}`, "condition", "column 1: the result must be a boolean, not a string [input: claims.a]"},
		"flow":        {"forge", `{"issuer":"https://forge.example.com","audience":"a","privilege":"member","condition":"exists(flow)"}`, "condition", "column 8: 'flow' is unknown: there are claims.<name>, exists(), matches(), true, false, and, or, not, in [input: exists(flow)]"},
	}, func(s *apitest.Service, name string, c testCase) {
		got := s.Do(http.MethodPut, "/api/v2/organizations/"+s.Org+"/identity-providers/"+c.name, apitest.AdminKey,
			[]byte(c.body))
		apitest.WantProblem(s.T, got, http.StatusBadRequest, "Input payload validation failed",
			map[string]string{c.location: c.text})
	})
	got := s.Do(http.MethodPut, "/api/v2/organizations/administrator/identity-providers/forge", apitest.AdminKey,
		[]byte(`{"issuer":"https://forge.example.com","audience":"a","privilege":"member","condition":"claims.a == 'b'"}`))
	apitest.WantProblem(t, got, http.StatusBadRequest, "Organization 'administrator' is personal and cannot have identity providers", nil)
}

func TestTryingATokenNamesTheUnmetClaim(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	forge := peers.NewIssuer(t)
	peers.Trust(s, "forge", forge, `claims.repository == "acme/shop" and claims.ref_protected == "true"`, "member")
	path := "/organizations/" + s.Org + "/identity-providers/"
	for name, c := range map[string]struct{ token, want string }{
		"good":                 {forge.Token(t, map[string]any{"repository": "acme/shop", "ref_protected": true}), `{"accepted":true,"subject":"repo:acme/shop"}`},
		"of another branch":    {forge.Token(t, map[string]any{"repository": "acme/shop", "ref_protected": false}), `{"accepted":false,"reason":"the condition of the provider does not hold","subject":"repo:acme/shop","unmet":["claims.ref_protected == \"true\""]}`},
		"for another audience": {forge.Token(t, map[string]any{"aud": "elsewhere"}), `{"accepted":false,"reason":"the claim aud does not contain the audience of the provider","subject":"repo:acme/shop"}`},
		"of another issuer":    {peers.NewIssuer(t).Token(t, nil), `{"accepted":false,"reason":"the claim iss is not the issuer of the provider"}`},
		"expired":              {forge.Token(t, map[string]any{"exp": time.Now().Add(-time.Second).Unix()}), `{"accepted":false,"reason":"the token has expired, or has no claim exp","subject":"repo:acme/shop"}`},
		"forged and expired":   {peers.NewIssuer(t).Token(t, map[string]any{"iss": forge.URL, "exp": time.Now().Add(-time.Second).Unix()}), `{"accepted":false,"reason":"no key of the issuer verifies the signature"}`},
		"not valid yet":        {forge.Token(t, map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}), `{"accepted":false,"reason":"the token is not valid yet, or a registered claim has a wrong type","subject":"repo:acme/shop"}`},
		"without a subject":    {forge.Token(t, map[string]any{"sub": "a\nb"}), `{"accepted":false,"reason":"the claim sub is missing, longer than 255 characters or not printable"}`},
		"no token":             {"secret", `{"accepted":false,"reason":"the token is not a signed JWT"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.Want(http.StatusOK, http.MethodPost, path+"forge/try", []byte(`{"token":"`+c.token+`"}`))
			apitest.Equal(t, string(got.Body), c.want)
		})
	}
	s.Want(http.StatusNotFound, http.MethodPost, path+"other/try", []byte(`{"token":"x"}`))
	s.Want(http.StatusBadRequest, http.MethodPost, path+"forge/try", []byte(`{}`))
	apitest.Equal(t, s.Do(http.MethodPost, "/api/v2"+path+"forge/try", apitest.MemberKey, []byte(`{"token":"x"}`)).Status,
		http.StatusForbidden, "a member is answered")
}
