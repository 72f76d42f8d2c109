package web

import (
	"fmt"
	"strings"
	"testing"
)

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
