package oidc_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"attestry/api/oidc"
	"attestry/config"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
)

const clientID = "pages"

// loginFixture is a login at an issuer that exchanges every code for a token.
type loginFixture struct {
	issuer *testIssuer
	clock  *evidencetest.Clock
	login  *oidc.Login
	// key signs the tokens. claims are the claims of the next token.
	key      signingKey
	claims   map[string]any
	userInfo map[string]any
}

func newLoginFixture(t *testing.T, userClaim string) *loginFixture {
	t.Helper()
	key := newRSAKey(t, "key", 2048)
	f := &loginFixture{
		issuer: newIssuer(t, key), key: key, claims: map[string]any{}, userInfo: map[string]any{"sub": "1"},
		clock: evidencetest.NewClock(time.Date(2026, time.May, 4, 10, 0, 0, 0, time.UTC)),
	}
	address := f.issuer.server.URL
	f.issuer.change(func() {
		f.issuer.document["token_endpoint"], f.issuer.document["userinfo_endpoint"] = address+"/token", address+"/userinfo"
	})
	f.issuer.setFault(func(w http.ResponseWriter, r *http.Request) bool {
		var answer any
		switch r.URL.Path {
		case "/token":
			token := f.key.sign(t, f.claims)
			answer = map[string]any{"access_token": "access", "token_type": "Bearer", "id_token": token}
		case "/userinfo":
			answer = f.userInfo
		default:
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(answer)
		return true
	})
	f.login = &oidc.Login{
		SignIn: config.SignIn{Issuer: config.Issuer(address), ClientID: clientID, UserClaim: userClaim}, Redirect: "https://attestry.example.com/back",
		Client: clientFor(f.issuer), Clock: f.clock.Now, Log: slog.New(slog.DiscardHandler),
	}
	return f
}

// signIn signs in with these claims and returns the name of the user.
func (f *loginFixture) signIn(t *testing.T, claims map[string]any) (string, error) {
	t.Helper()
	attempt := oidc.NewAttempt()
	if _, err := f.login.Address(t.Context(), attempt); err != nil {
		return "", err
	}
	f.claims = map[string]any{
		"iss": f.issuer.server.URL, "aud": clientID, "sub": "1", "nonce": attempt.Nonce, "exp": f.clock.Now().Add(time.Minute).Unix(),
	}
	for name, claim := range claims {
		f.claims[name] = claim
	}
	return f.login.Redeem(t.Context(), attempt, oidc.Answer{State: attempt.State, Code: "code"})
}

// wantSignIn signs in anna, which must succeed.
func (f *loginFixture) wantSignIn(t *testing.T) {
	t.Helper()
	if user, err := f.signIn(t, map[string]any{"name": "anna"}); err != nil || user != "anna" {
		t.Errorf("signed in %q, %v", user, err)
	}
}

func TestTheDocumentOfTheIssuerIsReadAgainAfterAnHour(t *testing.T) {
	f := newLoginFixture(t, "name")
	for range 60 {
		f.wantSignIn(t)
		f.clock.Advance(time.Minute)
	}
	if got := f.issuer.discoveries.Load(); got != 1 {
		t.Errorf("read %d times within the hour", got)
	}
	f.wantSignIn(t)
	if got := f.issuer.discoveries.Load(); got != 2 {
		t.Errorf("read %d times after an hour", got)
	}
}

func TestTheDocumentIsReadAgainForAKeyThatIsUnknown(t *testing.T) {
	f := newLoginFixture(t, "name")
	f.wantSignIn(t)
	moved := newRSAKey(t, "moved", 2048)
	f.key = moved
	f.issuer.change(func() { f.issuer.document["jwks_uri"] = f.issuer.server.URL + "/moved" })
	served := f.issuer.fault
	f.issuer.setFault(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/moved" {
			json.NewEncoder(w).Encode(map[string]any{"keys": []any{moved.public()}})
			return true
		}
		return served(w, r)
	})
	if _, err := f.signIn(t, map[string]any{"name": "anna"}); evidence.CodeOf(err) != evidence.Unauthorized || f.issuer.discoveries.Load() != 1 {
		t.Errorf("within the pause: %v, the document was read %d times", err, f.issuer.discoveries.Load())
	}
	f.clock.Advance(10 * time.Second)
	f.wantSignIn(t)
	if got := f.issuer.discoveries.Load(); got != 2 {
		t.Errorf("the document was read %d times", got)
	}
}

func TestADocumentThatCannotBeReadAgainIsNotUsedForEver(t *testing.T) {
	f := newLoginFixture(t, "name")
	f.wantSignIn(t)
	f.issuer.setFault(down)
	f.clock.Advance(time.Hour)
	if _, err := f.signIn(t, nil); evidence.CodeOf(err) != evidence.Unavailable {
		t.Errorf("got %v", err)
	}
}

func TestAnEMailAddressNamesAUserOnlyIfItIsVerified(t *testing.T) {
	const address = "anna@example.com"
	for name, c := range map[string]struct {
		token, userInfo map[string]any
		ok              bool
	}{
		"verified":                                   {map[string]any{"email": address, "email_verified": true}, nil, true},
		"verified, as a text":                        {map[string]any{"email": address, "email_verified": "true"}, nil, true},
		"verified at UserInfo":                       {nil, map[string]any{"email": address, "email_verified": true}, true},
		"verified at UserInfo, address in both":      {map[string]any{"email": address}, map[string]any{"email": address, "email_verified": true}, true},
		"not verified":                               {map[string]any{"email": address, "email_verified": false}, nil, false},
		"not said whether verified":                  {map[string]any{"email": address}, nil, false},
		"not verified at UserInfo":                   {nil, map[string]any{"email": address, "email_verified": false}, false},
		"verified at UserInfo, address in the token": {map[string]any{"email": address}, map[string]any{"email_verified": true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newLoginFixture(t, "email")
			for claim, value := range c.userInfo {
				f.userInfo[claim] = value
			}
			user, err := f.signIn(t, c.token)
			if c.ok != (err == nil && user == address) || !c.ok && evidence.CodeOf(err) != evidence.Unauthorized {
				t.Errorf("signed in %q, %v", user, err)
			}
		})
	}
}

func TestTheCodeIsSentOnceAsTheIssuerWantsIt(t *testing.T) {
	for name, c := range map[string]struct {
		secret   evidence.Secret
		methods  []string
		inHeader bool
	}{
		"in the form":               {"secret", []string{"private_key_jwt", "client_secret_post"}, false},
		"in the header":             {"secret", []string{"client_secret_post", "client_secret_basic"}, true},
		"in the form, not a secret": {"", []string{"client_secret_basic", "none"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newLoginFixture(t, "name")
			f.login.ClientSecret = c.secret
			f.issuer.change(func() { f.issuer.document["token_endpoint_auth_methods_supported"] = c.methods })
			served, codes := f.issuer.fault, 0
			f.issuer.setFault(func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != "/token" {
					return served(w, r)
				}
				codes++
				// As issuers that use up the code with the first request.
				if _, _, inHeader := r.BasicAuth(); codes > 1 || inHeader != c.inHeader {
					w.WriteHeader(http.StatusUnauthorized)
					return true
				}
				return served(w, r)
			})
			f.wantSignIn(t)
		})
	}
}
