package web

import (
	"fmt"
	"strings"
	"testing"
	"time"
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
	first.has(t, "1 of 60 environments is not compliant.", "59nn", "00nn", "48nn", `href="?page=2"`, "and 15 more", "…", "/sparkline.svg")
	if strings.Contains(first.text, "49nn") || strings.Index(first.text, "59nn") > strings.Index(first.text, "00nn") {
		t.Error("the page has environments of another one, or not those first that fail")
	}
	api.open(t, "/acme?page=2").has(t, "49nn", "58nn", `href="?page=1"`)
}

func TestHomeSaysFirstWhatNeedsAttention(t *testing.T) {
	silent := fmt.Sprintf(`{"name":"silent","type":"K8S","state":true,"last_reported_at":%d}`, testTime.Add(-time.Hour).Unix())
	for environments, want := range map[string]string{
		``: "There are no environments yet.",
		`{"name":"a","type":"logical","state":true}`: "Nothing here needs attention.",
		silent: "1 reporter of 1 environment silent.",
		`{"name":"a","state":false,"type":"logical","artifact_compliance_count":{"true":1,"false":2}},{"name":"b","state":false,"type":"logical"},` + silent: "2 of 3 environments are not compliant. 1 reporter silent.",
	} {
		api := newFakeAPI(t, cannedAnswers{"GET /environments/acme": canned("[" + environments + "]")})
		api.open(t, "/acme").has(t, want)
	}
}
