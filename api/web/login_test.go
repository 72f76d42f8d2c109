package web_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"attestry/api/apitest/peers"
	"attestry/api/apitest/webclient"
)

func TestPeopleSignInWithTheIssuer(t *testing.T) {
	t.Parallel()
	s, i := webclient.StartWithIssuer(t)
	v, next := webclient.NewVisitor(s), "/"+s.Org+"/environments"
	parameters := v.SendToIssuer(i, next)
	if parameters.Get("redirect_uri") != s.URL+"/signin/oidc/callback" || parameters.Get("code_challenge_method") != "S256" || parameters.Get("response_type") != "code" {
		t.Errorf("the authorization request has %v", parameters)
	}
	i.Claims = map[string]any{"preferred_username": "reader", "nonce": parameters.Get("nonce")}
	got := v.Open("/signin/oidc/callback?code=c&state=" + parameters.Get("state"))
	if got.Status != http.StatusSeeOther || got.Header.Get("Location") != next {
		t.Fatalf("the issuer's answer leads to %d %s: %s", got.Status, got.Header.Get("Location"), got.Body)
	}
	redeemed := <-i.Redeemed
	challenge := sha256.Sum256([]byte(redeemed.Get("code_verifier")))
	if redeemed.Get("code") != "c" || base64.RawURLEncoding.EncodeToString(challenge[:]) != parameters.Get("code_challenge") {
		t.Errorf("the code is redeemed with %v", redeemed)
	}
	v.WantPage(http.StatusOK, next, "reader")
	if got := v.Open("/signin/oidc/callback?code=c&state=" + parameters.Get("state")); got.Status != http.StatusUnauthorized {
		t.Errorf("the same answer signs in twice: %d", got.Status)
	}
}

func TestIssuerWithoutUserInfoMustNamePeopleInTheToken(t *testing.T) {
	t.Parallel()
	s, i := webclient.StartWithIssuer(t)
	i.TokensOnly = true
	v := webclient.NewVisitor(s)
	parameters := v.SendToIssuer(i, "/")
	i.Claims = map[string]any{"nonce": parameters.Get("nonce")}
	if got := v.Open("/signin/oidc/callback?code=c&state=" + parameters.Get("state")); got.Status != http.StatusUnauthorized {
		t.Errorf("it answers %d: %s", got.Status, got.Body)
	}
}

func TestInvalidAnswersOfTheIssuerSignNobodyIn(t *testing.T) {
	t.Parallel()
	s, i := webclient.StartWithIssuer(t)
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
		"no name":                {nil, map[string]any{"sub": peers.SubjectOfTokens}, "", http.StatusUnauthorized},
		"a name that is no text": {map[string]any{"preferred_username": 7}, map[string]any{"sub": peers.SubjectOfTokens}, "", http.StatusUnauthorized},
		"claims of another user": {nil, map[string]any{"sub": "another", "preferred_username": "reader"}, "", http.StatusUnauthorized},
		"claims of no user":      {nil, map[string]any{"preferred_username": "reader"}, "", http.StatusUnauthorized},
		"claims that are wrong":  {nil, map[string]any{"sub": 7}, "", http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.In(t)
			v := webclient.NewVisitor(s)
			parameters := v.SendToIssuer(i, "/")
			i.Claims, i.UserInfo = map[string]any{"nonce": parameters.Get("nonce")}, c.userInfo
			for claim, value := range c.claims {
				i.Claims[claim] = value
			}
			state := c.state
			if state == "" {
				state = parameters.Get("state")
			}
			if got := v.Open("/signin/oidc/callback?code=c&state=" + state); got.Status != c.status {
				t.Errorf("it answers %d: %s", got.Status, got.Body)
			}
			if got := v.Open("/" + s.Org); got.Status != http.StatusSeeOther {
				t.Errorf("somebody is signed in: %d", got.Status)
			}
		})
	}
	if got := webclient.NewVisitor(s).Open("/signin/oidc/callback?code=c&state="); got.Status != http.StatusUnauthorized {
		t.Errorf("without an attempt it answers %d", got.Status)
	}
}

func TestUnreachableIssuerIsNotRequestedAgainAtOnce(t *testing.T) {
	t.Parallel()
	s, i := webclient.StartWithIssuer(t)
	i.Down.Store(true)
	for range 3 {
		got := webclient.NewVisitor(s).Open("/signin/oidc")
		if got.Status != http.StatusServiceUnavailable || got.Header.Get("Retry-After") != "10" || !strings.Contains(string(got.Body), "<h1") {
			t.Errorf("it answers %d, again after %s: %s", got.Status, got.Header.Get("Retry-After"), got.Body)
		}
	}
	if requests := i.Requests.Load(); requests != 1 {
		t.Errorf("the issuer got %d requests", requests)
	}
}

func TestSignInIsRetriedAfterTheIssuerFailsToRedeemACode(t *testing.T) {
	t.Parallel()
	s, i := webclient.StartWithIssuer(t)
	v := webclient.NewVisitor(s)
	parameters := v.SendToIssuer(i, "/")
	i.Down.Store(true)
	if got := v.Open("/signin/oidc/callback?code=c&state=" + parameters.Get("state")); got.Status != http.StatusServiceUnavailable {
		t.Errorf("it answers %d: %s", got.Status, got.Body)
	}
	i.Down.Store(false)
	i.Claims = map[string]any{"preferred_username": "reader", "nonce": parameters.Get("nonce")}
	if got := v.Open("/signin/oidc/callback?code=c&state=" + parameters.Get("state")); got.Status != http.StatusSeeOther {
		t.Errorf("tried again it answers %d: %s", got.Status, got.Body)
	}
}

func TestIssuerThatRefusesASignInIsNotAskedForTokens(t *testing.T) {
	t.Parallel()
	s, i := webclient.StartWithIssuer(t)
	v := webclient.NewVisitor(s)
	parameters := v.SendToIssuer(i, "/")
	// The answer does not depend on the issuer: there is no code to redeem.
	i.Down.Store(true)
	before := i.Requests.Load()
	got := v.Open("/signin/oidc/callback?error=access_denied&error_description=not+assigned&state=" + parameters.Get("state"))
	if got.Status != http.StatusUnauthorized {
		t.Errorf("it answers %d: %s", got.Status, got.Body)
	}
	if requests := i.Requests.Load() - before; requests != 0 {
		t.Errorf("the issuer got %d requests", requests)
	}
}

func TestBrowsersKeepTheCookieOfASignInForEachAddress(t *testing.T) {
	t.Parallel()
	s, _ := webclient.StartWithIssuer(t)
	for _, next := range []string{"/acme?" + strings.Repeat("a=&", 680), "/acme?q=" + strings.Repeat("é", 1000), "/" + strings.Repeat("a", 4000)} {
		got := webclient.NewVisitor(s).Open("/signin/oidc?next=" + url.QueryEscape(next))
		if cookie := got.Header.Get("Set-Cookie"); got.Status != http.StatusSeeOther || len(cookie) > 4096 {
			t.Errorf("to an address of %d bytes it answers %d with a cookie of %d bytes", len(next), got.Status, len(cookie))
		}
	}
}
