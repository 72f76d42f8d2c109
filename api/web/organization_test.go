package web

import (
	"fmt"
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

func TestEnvironmentsArePagedAndThoseThatFailComeFirst(t *testing.T) {
	included := strings.Repeat(`"`+strings.Repeat("i", 255)+`",`, 19) + `"last"`
	var environments []string
	for i := range 60 {
		environments = append(environments, fmt.Sprintf(`{"name":"%02d%s","type":"logical","description":"%s","state":%t,"last_changed_at":1793610900.5,"included_environments":[%s]}`,
			i, strings.Repeat("n", 253), strings.Repeat("<", 30_000), i != 59, included))
	}
	api := &fakeAPI{answers: map[string][]string{"GET /environments/acme": {"[" + strings.Join(environments, ",") + "]"}}}
	first := open(t, api, "/acme")
	first.has(t, "59nn", "00nn", "48nn", `href="?page=2"`, "and 15 more", "…", "/sparkline.svg")
	if strings.Contains(first.text, "49nn") || strings.Index(first.text, "59nn") > strings.Index(first.text, "00nn") {
		t.Error("the page has environments of another one, or not those first that fail")
	}
	open(t, api, "/acme?page=2").has(t, "49nn", "58nn", `href="?page=1"`)
}
