package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestMembersAreShown(t *testing.T) {
	accounts := canned("[]", `[{"name": "kept", "privilege": "reader"}, {"name": "left", "privilege": "member", "left_by_creator": true}]`)
	api := newFakeAPI(t, cannedAnswers{"GET /service-accounts/acme": accounts, "GET /organizations/acme/members": withHostile(
		`[{"user": "%[1]s", "role": "admin", "created_at": 5}, {"user": "%[2]s", "role": "reader", "created_at": 5}]`)})
	shown := api.open(t, "/acme/members")
	shown.has(t, escapedScript, "2 members")
	shown.lacks(t, "without their creators")
	shown = api.open(t, "/acme/members")
	shown.has(t, "without their creators", "<bdi>left</bdi> (member)")
	shown.lacks(t, "kept")
}

func TestMembersAreRefusedAsTheAPIDoes(t *testing.T) {
	api := newFakeAPI(t, cannedAnswers{"GET /organizations/acme/members": refused(http.StatusForbidden, `{"message": "<script>alert(1)"}`)})
	api.open(t, "/acme/members").answers(t, http.StatusForbidden, escapedScript)
}

func TestEnvironmentsArePagedAndThoseThatFailComeFirst(t *testing.T) {
	included := strings.Repeat(`"`+strings.Repeat("i", 255)+`",`, 19) + `"last"`
	var environments []string
	for i := range 60 {
		environments = append(environments, fmt.Sprintf(`{"name":"%02d%s","type":"logical","description":"%s","state":%t,"last_changed_at":1793610900.5,"included_environments":[%s]}`,
			i, strings.Repeat("n", 253), strings.Repeat("<", 30_000), i != 59, included))
	}
	api := newFakeAPI(t, cannedAnswers{"GET /environments/acme": canned("[" + strings.Join(environments, ",") + "]")})
	first := api.open(t, "/acme")
	first.has(t, "59nn", "00nn", "48nn", `href="?page=2"`, "and 15 more", "…", "/sparkline.svg")
	if strings.Contains(first.text, "49nn") || strings.Index(first.text, "59nn") > strings.Index(first.text, "00nn") {
		t.Error("the page has environments of another one, or not those first that fail")
	}
	api.open(t, "/acme?page=2").has(t, "49nn", "58nn", `href="?page=1"`)
}
