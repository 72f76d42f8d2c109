package server

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"attestry/api/links"
	"attestry/api/validation"
	"attestry/evidence"
)

func basic(credentials string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))
}

func TestKeysAreTakenFromBearerAndBasic(t *testing.T) {
	for header, want := range map[string]string{
		"Bearer key":              "key",
		"bearer key":              "key",
		"BEARER   key ":           "key",
		basic("key:"):             "key",
		basic("key:password"):     "key",
		basic("key:a:b"):          "key",
		"basic" + basic("k:")[5:]: "k",
	} {
		if got, err := secretOf(header); err != nil || got != want {
			t.Errorf("secretOf(%q) = %q, %v, want %q", header, got, err, want)
		}
	}
}

func TestEveryPartOfAnAuthorizationMayBeAKey(t *testing.T) {
	for header, want := range map[string][]string{
		"Bearer key":                {"Bearer", "key"},
		"Bearer two words":          {"two words", "two"},
		basic("user:password:more"): {"user", "password:more", basic("user:password:more")[6:]},
	} {
		got := credentialsOf(header)
		for _, text := range want {
			if !slices.Contains(got, text) {
				t.Errorf("%q is not in %q", text, got)
			}
		}
	}
}

func TestMalformedAuthorizationIsUnauthorized(t *testing.T) {
	for _, header := range []string{
		"", " ", "Bearer", "Bearer ", "key", "Token key", "Basic", "Basic !!!", basic("key"), basic(":password"), basic(""),
		"Bearer " + strings.Repeat("x", maxSecret+1), basic("k\x00:"), basic("\xff\xfe:"),
	} {
		if secret, err := secretOf(header); evidence.CodeOf(err) != evidence.Unauthorized {
			t.Errorf("secretOf(%q) = %q, %v", header, secret, err)
		}
	}
}

func FuzzSecretOf(f *testing.F) {
	for _, header := range []string{"", "Bearer x", basic("a:b"), "Basic ====", "Basic \x00", "bearer\tx"} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		secret, err := secretOf(header)
		if (err == nil) == (secret == "") {
			t.Errorf("%q gave %q and %v", header, secret, err)
		}
		if err == nil && (len(secret) > maxSecret || !validation.PlainText(secret)) {
			t.Errorf("%q gave %q", header, secret)
		}
	})
}

func TestBothSchemesAreAccepted(t *testing.T) {
	s := start(t, testRoutes())
	for _, header := range []string{"Bearer reader", basic("reader:"), basic("reader:x")} {
		if got := s.send(t, "GET", links.Prefix+"/mine", "", "", "Authorization", header); got.status != 200 || got.body != `"reader"` {
			t.Errorf("%s: %d %s", header, got.status, got.body)
		}
	}
	if got := s.send(t, "GET", links.Prefix+"/mine", "", "", "Authorization", basic("reader")); got.status != 401 {
		t.Errorf("Basic without a colon: %d", got.status)
	}
}

func TestUnauthorizedAsksForABearer(t *testing.T) {
	s := start(t, testRoutes())
	for _, key := range []string{"", "stranger"} {
		if got := s.send(t, "GET", links.Prefix+"/mine", key, "").header.Get("WWW-Authenticate"); got != "Bearer" {
			t.Errorf("WWW-Authenticate = %q", got)
		}
	}
}

func TestRefusalsComeBeforeValidation(t *testing.T) {
	s := start(t, testRoutes())
	const path = links.Prefix + "/things/acme/search?page=x"
	s.send(t, "GET", path, "", "").expect(t, 401, keyMissingMessage)
	s.send(t, "GET", path, "outsider", "").expect(t, 403, "Access denied to "+links.Prefix+"/things/acme/search")
	s.send(t, "PUT", links.Prefix+"/things/acme", "reader", "{").expect(t, 403, roleTooLowMessage)
	s.send(t, "GET", path, "reader", "").expect(t, 400, evidence.ValidationMessage)
	s.send(t, "GET", links.Prefix+"/things/other/search", "admin", "").expect(t, 403, "Access denied to "+links.Prefix+"/things/other/search")
}

func TestOutagesOfAuthenticationAreNotTheClientsFault(t *testing.T) {
	s := start(t, testRoutes())
	s.send(t, "GET", links.Prefix+"/mine", "slow", "").expect(t, 503, overloadedMessage)
	s.send(t, "GET", links.Prefix+"/mine", "broken", "").expect(t, 500, internalMessage)
}

func TestPublicOperationsTakeAnyKeyOrNone(t *testing.T) {
	s := start(t, testRoutes())
	for _, key := range []string{"", "stranger", "admin"} {
		if got := s.send(t, "POST", links.Prefix+"/hooks/1", key, ""); got.status != 200 {
			t.Errorf("key %q: %d", key, got.status)
		}
	}
}
