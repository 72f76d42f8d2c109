package server

import (
	"encoding/base64"
	"testing"

	"attestry/evidence"
	"attestry/links"
)

func basic(credentials string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))
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
	s.send(t, "GET", path, "", "").expect(t, 401, "An API key is required")
	s.send(t, "GET", path, "outsider", "").expect(t, 403, "Access denied to "+links.Prefix+"/things/acme/search")
	s.send(t, "PUT", links.Prefix+"/things/acme", "reader", "{").expect(t, 403, "You don't have permission to access this resource")
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
