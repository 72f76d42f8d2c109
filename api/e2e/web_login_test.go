package e2e_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// startWithIssuer starts a service whose users can sign in with an issuer.
func startWithIssuer(t *testing.T) (*service, *issuer) {
	t.Helper()
	i := newIssuer(t)
	return start(t, options{withoutWorker: true, settings: i.signInSettings()}), i
}

// signInSettings returns the settings for users to sign in with the issuer.
func (i *issuer) signInSettings() []string {
	return []string{"ATTESTRY_OIDC_ISSUER=" + i.url, "ATTESTRY_OIDC_CLIENT_ID=" + audienceOfTokens, "ATTESTRY_OIDC_CLIENT_SECRET=of-the-client"}
}

// sendToIssuer follows the link to the issuer and returns the parameters of the authorization request.
func (v *visitor) sendToIssuer(i *issuer, next string) url.Values {
	v.t.Helper()
	v.wantPage(http.StatusOK, "/signin?next="+url.QueryEscape(next), `href="/signin/oidc?next=`+url.QueryEscape(next))
	got := v.open("/signin/oidc?next=" + url.QueryEscape(next))
	address, err := url.Parse(got.header.Get("Location"))
	if err != nil || got.status != http.StatusSeeOther || !strings.HasPrefix(address.String(), i.url+"/authorize?") {
		v.t.Fatalf("it leads to %d %s", got.status, got.header.Get("Location"))
	}
	return address.Query()
}

func TestPeopleSignInWithTheIssuer(t *testing.T) {
	t.Parallel()
	s, i := startWithIssuer(t)
	v, next := s.visitor(), "/"+s.org+"/environments"
	parameters := v.sendToIssuer(i, next)
	if parameters.Get("redirect_uri") != s.URL+"/signin/oidc/callback" || parameters.Get("code_challenge_method") != "S256" || parameters.Get("response_type") != "code" {
		t.Errorf("the authorization request has %v", parameters)
	}
	i.claims = map[string]any{"preferred_username": "reader", "nonce": parameters.Get("nonce")}
	got := v.open("/signin/oidc/callback?code=c&state=" + parameters.Get("state"))
	if got.status != http.StatusSeeOther || got.header.Get("Location") != next {
		t.Fatalf("the issuer's answer leads to %d %s: %s", got.status, got.header.Get("Location"), got.body)
	}
	redeemed := <-i.redeemed
	challenge := sha256.Sum256([]byte(redeemed.Get("code_verifier")))
	if redeemed.Get("code") != "c" || base64.RawURLEncoding.EncodeToString(challenge[:]) != parameters.Get("code_challenge") {
		t.Errorf("the code is redeemed with %v", redeemed)
	}
	v.wantPage(http.StatusOK, next, "reader")
	if got := v.open("/signin/oidc/callback?code=c&state=" + parameters.Get("state")); got.status != http.StatusUnauthorized {
		t.Errorf("the same answer signs in twice: %d", got.status)
	}
}

func TestPeopleSignInByTheUserInfoOfTheIssuer(t *testing.T) {
	t.Parallel()
	s, i := startWithIssuer(t)
	v, next := s.visitor(), "/"+s.org
	parameters := v.sendToIssuer(i, next)
	i.claims = map[string]any{"nonce": parameters.Get("nonce")}
	i.userInfo = map[string]any{"sub": subjectOfTokens, "preferred_username": "reader"}
	if got := v.open("/signin/oidc/callback?code=c&state=" + parameters.Get("state")); got.status != http.StatusSeeOther {
		t.Fatalf("the issuer's answer is %d: %s", got.status, got.body)
	}
	v.wantPage(http.StatusOK, next, "reader")
}

func TestIssuerWithoutUserInfoMustNamePeopleInTheToken(t *testing.T) {
	t.Parallel()
	s, i := startWithIssuer(t)
	i.tokensOnly = true
	v := s.visitor()
	parameters := v.sendToIssuer(i, "/")
	i.claims = map[string]any{"nonce": parameters.Get("nonce")}
	if got := v.open("/signin/oidc/callback?code=c&state=" + parameters.Get("state")); got.status != http.StatusUnauthorized {
		t.Errorf("it answers %d: %s", got.status, got.body)
	}
}

func TestInvalidAnswersOfTheIssuerSignNobodyIn(t *testing.T) {
	t.Parallel()
	s, i := startWithIssuer(t)
	for name, c := range map[string]struct {
		claims, userInfo map[string]any
		state            string
		status           int
	}{
		"another state":          {map[string]any{"preferred_username": "reader"}, nil, "x", http.StatusUnauthorized},
		"another nonce":          {map[string]any{"preferred_username": "reader", "nonce": "x"}, nil, "", http.StatusUnauthorized},
		"another audience":       {map[string]any{"preferred_username": "reader", "aud": "x"}, nil, "", http.StatusUnauthorized},
		"an old token":           {map[string]any{"preferred_username": "reader", "exp": 1}, nil, "", http.StatusUnauthorized},
		"an unknown user":        {map[string]any{"preferred_username": "nobody"}, nil, "", http.StatusForbidden},
		"no name":                {nil, map[string]any{"sub": subjectOfTokens}, "", http.StatusUnauthorized},
		"a name that is no text": {map[string]any{"preferred_username": 7}, map[string]any{"sub": subjectOfTokens}, "", http.StatusUnauthorized},
		"claims of another user": {nil, map[string]any{"sub": "another", "preferred_username": "reader"}, "", http.StatusUnauthorized},
		"claims of no user":      {nil, map[string]any{"preferred_username": "reader"}, "", http.StatusUnauthorized},
		"claims that are wrong":  {nil, map[string]any{"sub": 7}, "", http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			v := s.visitor()
			parameters := v.sendToIssuer(i, "/")
			i.claims, i.userInfo = map[string]any{"nonce": parameters.Get("nonce")}, c.userInfo
			for claim, value := range c.claims {
				i.claims[claim] = value
			}
			state := c.state
			if state == "" {
				state = parameters.Get("state")
			}
			if got := v.open("/signin/oidc/callback?code=c&state=" + state); got.status != c.status {
				t.Errorf("it answers %d: %s", got.status, got.body)
			}
			if got := v.open("/" + s.org); got.status != http.StatusSeeOther {
				t.Errorf("somebody is signed in: %d", got.status)
			}
		})
	}
	if got := s.visitor().open("/signin/oidc/callback?code=c&state="); got.status != http.StatusUnauthorized {
		t.Errorf("without an attempt it answers %d", got.status)
	}
}

func TestUnreachableIssuerIsNotRequestedAgainAtOnce(t *testing.T) {
	t.Parallel()
	s, i := startWithIssuer(t)
	i.down.Store(true)
	for range 3 {
		got := s.visitor().open("/signin/oidc")
		if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") != "10" || !strings.Contains(string(got.body), "<h1") {
			t.Errorf("it answers %d, again after %s: %s", got.status, got.header.Get("Retry-After"), got.body)
		}
	}
	if requests := i.requests.Load(); requests != 1 {
		t.Errorf("the issuer got %d requests", requests)
	}
}

func TestSignInIsRetriedAfterTheIssuerFailsToRedeemACode(t *testing.T) {
	t.Parallel()
	s, i := startWithIssuer(t)
	v := s.visitor()
	parameters := v.sendToIssuer(i, "/")
	i.down.Store(true)
	if got := v.open("/signin/oidc/callback?code=c&state=" + parameters.Get("state")); got.status != http.StatusServiceUnavailable {
		t.Errorf("it answers %d: %s", got.status, got.body)
	}
	i.down.Store(false)
	i.claims = map[string]any{"preferred_username": "reader", "nonce": parameters.Get("nonce")}
	if got := v.open("/signin/oidc/callback?code=c&state=" + parameters.Get("state")); got.status != http.StatusSeeOther {
		t.Errorf("tried again it answers %d: %s", got.status, got.body)
	}
}

func TestIssuerThatRefusesASignInIsNotAskedForTokens(t *testing.T) {
	t.Parallel()
	s, i := startWithIssuer(t)
	v := s.visitor()
	parameters := v.sendToIssuer(i, "/")
	// The answer does not depend on the issuer: there is no code to redeem.
	i.down.Store(true)
	before := i.requests.Load()
	got := v.open("/signin/oidc/callback?error=access_denied&error_description=not+assigned&state=" + parameters.Get("state"))
	if got.status != http.StatusUnauthorized {
		t.Errorf("it answers %d: %s", got.status, got.body)
	}
	if requests := i.requests.Load() - before; requests != 0 {
		t.Errorf("the issuer got %d requests", requests)
	}
}

func TestBrowsersKeepTheCookieOfASignInForEachAddress(t *testing.T) {
	t.Parallel()
	s, _ := startWithIssuer(t)
	for _, next := range []string{"/acme?" + strings.Repeat("a=&", 680), "/acme?q=" + strings.Repeat("é", 1000), "/" + strings.Repeat("a", 4000)} {
		got := s.visitor().open("/signin/oidc?next=" + url.QueryEscape(next))
		if cookie := got.header.Get("Set-Cookie"); got.status != http.StatusSeeOther || len(cookie) > 4096 {
			t.Errorf("to an address of %d bytes it answers %d with a cookie of %d bytes", len(next), got.status, len(cookie))
		}
	}
}
