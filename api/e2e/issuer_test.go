package e2e_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// issuer is an identity provider on the loopback interface.
type issuer struct {
	url string
	// claims are the claims of the ID token that it returns for a code.
	claims map[string]any
	// userInfo are the claims that it returns for the access token.
	userInfo map[string]any
	// tokensOnly omits the userinfo endpoint from the discovery document.
	tokensOnly bool
	redeemed   chan url.Values
	key        *ecdsa.PrivateKey
	requests   atomic.Int64
	// down makes it answer 502.
	down atomic.Bool
}

const (
	// audienceOfTokens and subjectOfTokens are the claims aud and sub of tokens, unless a test sets others.
	audienceOfTokens = "attestry"
	subjectOfTokens  = "repo:acme/shop"
	// accessToken is the token that the userinfo endpoint expects.
	accessToken = "access"
)

// newIssuer starts an issuer. Its certificate is in the file of writeAuthorities.
func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{key: key, redeemed: make(chan url.Values, 10)}
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
			"issuer":                                i.url, "jwks_uri": i.url + "/keys", "authorization_endpoint": i.url + "/authorize", "token_endpoint": i.url + "/token",
		}
		if !i.tokensOnly {
			document["userinfo_endpoint"] = i.url + "/userinfo"
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
		if err := json.NewEncoder(w).Encode(i.userInfo); err != nil {
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
		i.redeemed <- r.PostForm
		w.Header().Set("Content-Type", "application/json")
		content := map[string]any{"access_token": accessToken, "token_type": "Bearer", "id_token": i.token(t, i.claims)}
		if err := json.NewEncoder(w).Encode(content); err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	i.url = server.URL
	return i
}

// isDown counts a request. If the issuer is down, it answers 502 and returns true.
func (i *issuer) isDown(w http.ResponseWriter) bool {
	i.requests.Add(1)
	if !i.down.Load() {
		return false
	}
	w.WriteHeader(http.StatusBadGateway)
	return true
}

// token signs a token that is valid for an hour. The claims add to the required ones or replace them.
func (i *issuer) token(t *testing.T, claims map[string]any) string {
	t.Helper()
	all := map[string]any{"iss": i.url, "aud": audienceOfTokens, "sub": subjectOfTokens, "exp": time.Now().Add(time.Hour).Unix()}
	for name, claim := range claims {
		all[name] = claim
	}
	payload, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: i.key}, (&jose.SignerOptions{}).WithHeader("kid", "1"))
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

// authorities is the file of the certificate of httptest, which all services trust.
var authorities string

// writeAuthorities writes that file to a folder. The clients of the tests trust the certificate as well.
func writeAuthorities(folder string) error {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	http.DefaultTransport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: trusted}
	authorities = filepath.Join(folder, "authorities.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return os.WriteFile(authorities, certificate, 0o600)
}
