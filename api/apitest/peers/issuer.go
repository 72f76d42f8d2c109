package peers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"attestry/api/apitest"
)

// Issuer is an identity provider on the loopback interface.
type Issuer struct {
	URL string
	// claims are the claims of the ID token that it returns for a code.
	Claims map[string]any
	// userInfo are the claims that it returns for the access token.
	UserInfo map[string]any
	// tokensOnly omits the userinfo endpoint from the discovery document.
	TokensOnly bool
	Redeemed   chan url.Values
	Key        *ecdsa.PrivateKey
	Requests   atomic.Int64
	// down makes it answer 502.
	Down atomic.Bool
}

const (
	// audienceOfTokens and SubjectOfTokens are the claims aud and sub of tokens, unless a test sets others.
	audienceOfTokens = "attestry"
	SubjectOfTokens  = "repo:acme/shop"
	// accessToken is the token that the userinfo endpoint expects.
	accessToken = "access"
)

// NewIssuer starts an issuer. Its certificate is in the file of writeAuthorities.
func NewIssuer(t *testing.T) *Issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &Issuer{Key: key, Redeemed: make(chan url.Values, 10)}
	mux := http.NewServeMux()
	answer := func(path string, content func() any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			if i.isDown(w) {
				return
			}
			if err := json.NewEncoder(w).Encode(content()); err != nil {
				t.Error(err)
			}
		})
	}
	answer("/.well-known/openid-configuration", func() any {
		document := map[string]any{
			"id_token_signing_alg_values_supported": []string{"ES256"},
			"issuer":                                i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
		}
		if !i.TokensOnly {
			document["userinfo_endpoint"] = i.URL + "/userinfo"
		}
		return document
	})
	mux.HandleFunc("GET /userinfo", func(w http.ResponseWriter, r *http.Request) {
		if i.isDown(w) {
			return
		}
		if got := r.Header.Get("Authorization"); got != "Bearer "+accessToken {
			t.Errorf("the userinfo endpoint gets %q", got)
		}
		if err := json.NewEncoder(w).Encode(i.UserInfo); err != nil {
			t.Error(err)
		}
	})
	answer("/keys", func() any {
		return jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1", Algorithm: "ES256", Use: "sig"}}}
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		if i.isDown(w) {
			return
		}
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		i.Redeemed <- r.PostForm
		w.Header().Set("Content-Type", "application/json")
		content := map[string]any{"access_token": accessToken, "token_type": "Bearer", "id_token": i.Token(t, i.Claims)}
		if err := json.NewEncoder(w).Encode(content); err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	i.URL = server.URL
	return i
}

// isDown counts a request. If the issuer is down, it answers 502 and returns true.
func (i *Issuer) isDown(w http.ResponseWriter) bool {
	i.Requests.Add(1)
	if !i.Down.Load() {
		return false
	}
	w.WriteHeader(http.StatusBadGateway)
	return true
}

// Token signs a token that is valid for an hour. The claims add to the required ones or replace them.
func (i *Issuer) Token(t *testing.T, claims map[string]any) string {
	t.Helper()
	all := map[string]any{"iss": i.URL, "aud": audienceOfTokens, "sub": SubjectOfTokens, "exp": time.Now().Add(time.Hour).Unix()}
	for name, claim := range claims {
		all[name] = claim
	}
	payload, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: i.Key}, (&jose.SignerOptions{}).WithHeader("kid", "1"))
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

// Trust configures an issuer as an identity provider of the organization.
func Trust(s *apitest.Service, name string, from *Issuer, condition, privilege string) {
	s.T.Helper()
	body := fmt.Sprintf(`{"issuer":%q,"audience":%q,"condition":%s,"privilege":%q}`, from.URL, audienceOfTokens, apitest.QuoteJSON(condition), privilege)
	if got := s.Do(http.MethodPut, "/api/v2/organizations/"+s.Org+"/identity-providers/"+name, apitest.AdminKey, []byte(body)); got.Status > http.StatusCreated {
		s.T.Fatalf("status %d: %s", got.Status, got.Body)
	}
}

// SignInSettings returns the settings for users to sign in with the issuer.
func (i *Issuer) SignInSettings() []string {
	return []string{"ATTESTRY_OIDC_ISSUER=" + i.URL, "ATTESTRY_OIDC_CLIENT_ID=" + audienceOfTokens, "ATTESTRY_OIDC_CLIENT_SECRET=of-the-client"}
}
