package web

import (
	"net/http"
	"strings"
	"testing"
)

func TestMembersAreShown(t *testing.T) {
	site := newGovernanceSite(t, map[string]cannedAnswer{"/organizations/acme/members": withHostile(
		`[{"user": "%[1]s", "role": "admin", "created_at": 5}, {"user": "%[2]s", "role": "reader", "created_at": 5}]`)})
	_, shown := site.open(t, "/acme/members")
	checkHarmless(t, shown)
	if !strings.Contains(shown, "2 members") {
		t.Errorf("shows %s", shown)
	}
}

func TestMembersAreRefusedAsTheAPIDoes(t *testing.T) {
	site := newGovernanceSite(t, map[string]cannedAnswer{"/organizations/acme/members": {status: http.StatusForbidden, body: `{"message": "<script>alert(1)"}`}})
	answer, shown := site.open(t, "/acme/members")
	checkHarmless(t, shown)
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("answered %d", answer.StatusCode)
	}
}
