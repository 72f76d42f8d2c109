package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// homeAnswers are the answers that the home page needs, empty but for the environments.
func homeAnswers(environments string) cannedAnswers {
	return cannedAnswers{
		"GET /environments/acme":     canned("[" + environments + "]"),
		"GET /attestations/acme":     canned(`{"data":[]}`),
		"GET /actions/acme":          canned(`[]`),
		"GET /trails/acme":           canned(`{"data":[]}`),
		"GET /user/api-keys":         canned(`[]`),
		"GET /service-accounts/acme": canned(`[]`),
		"GET /deployments/acme":      canned(`{"total_count":0,"deployments":[]}`),
	}
}

func TestHomeListsFindingsActionsAndKeysThatNeedAttention(t *testing.T) {
	answers := homeAnswers(`{"name":"a","type":"logical","state":true}`)
	answers["GET /attestations/acme"] = withHostile(`{"data":[` + strings.Repeat(`{"attestation_id":"f1","attestation_name":"unit-test","flow_name":"checkout","trail_name":"t1","finding":"2 of 3 tests failed: %[1]s","created_at":1774958000},`, 10) + `{}]}`)
	answers["GET /actions/acme"] = withHostile(`[{"number":7,"name":"chat%[1]s","is_failing":true},{"number":8,"name":"mail","is_failing":false},{"number":9,"name":"new","is_failing":null}]`)
	soon, late := testTime.Add(13*24*time.Hour).Unix(), testTime.Add(15*24*time.Hour).Unix()
	answers["GET /user/api-keys"] = canned(fmt.Sprintf(`[{"description":"laptop%s","expires_at":%d},{"description":"later","expires_at":%d},{"description":"endless","expires_at":0},{"description":"over","expires_at":1}]`, script, soon, late))
	answers["GET /service-accounts/acme"] = canned(fmt.Sprintf(`[{"name":"robot%s","key_expires_at":%d},{"name":"calm","key_expires_at":%d},{"name":"quiet"}]`, script, soon, late))
	answers["GET /trails/acme"] = withHostile(`{"data":[{"name":"%[1]s","flow":{"name":"%[1]s"},"compliance_state":"INCOMPLETE","last_modified_at":1774958000}]}`)
	answers["GET /deployments/acme"] = canned(`{"total_count":3,"deployments":[{"lead_time_seconds":7200},{"lead_time_seconds":null}]}`)
	api := newFakeAPI(t, answers)
	shown := api.open(t, "/acme")
	shown.has(t, "2 of 3 tests failed: "+escapedScript, `href="/acme/flows/checkout/trails/t1?attestation_id=f1"`, "and more", "chat"+escapedScript,
		`href="/acme/settings/deliveries?action_number=7"`, "laptop"+escapedScript, "robot"+escapedScript, "Newest trails", "incomplete", "1 week from now", "2.0 h", "median of 1")
	shown.lacks(t, "mail", "later", "calm", "quiet", "endless", "over<", "Nothing here needs attention.")

	answers["GET /actions/acme"] = refused(http.StatusForbidden, `{"message":"no"}`)
	answers["GET /user/api-keys"] = refused(http.StatusForbidden, `{"message":"no"}`)
	answers["GET /service-accounts/acme"] = refused(http.StatusForbidden, `{"message":"no"}`)
	answers["GET /attestations/acme"] = canned(`{"data":[]}`)
	newFakeAPI(t, answers).open(t, "/acme").has(t, "Nothing here needs attention.", "No attestation that came was non-compliant.")
}

func TestEnvironmentsArePagedAndThoseThatFailComeFirst(t *testing.T) {
	included := strings.Repeat(`"`+strings.Repeat("i", 255)+`",`, 19) + `"last"`
	var environments []string
	for i := range 60 {
		environments = append(environments, fmt.Sprintf(`{"name":"%02d%s","type":"logical","description":"%s","state":%t,"last_changed_at":1793610900.5,"included_environments":[%s]}`,
			i, strings.Repeat("n", 253), strings.Repeat("<", 30_000), i != 59, included))
	}
	api := newFakeAPI(t, homeAnswers(strings.Join(environments, ",")))
	first := api.open(t, "/acme")
	first.has(t, "1 of 60 environments is not compliant.", "59nn", "00nn", "48nn", `href="?page=2"`, "and 15 more", "…", "/sparkline.svg")
	if strings.Contains(first.text, "49nn") || strings.Index(first.text, "59nn") > strings.Index(first.text, "00nn") {
		t.Error("the page has environments of another one, or not those first that fail")
	}
	api.open(t, "/acme?page=2").has(t, "49nn", "58nn", `href="?page=1"`)
}

func TestHomeShowsSinceWhenAnEnvironmentIsNotCompliant(t *testing.T) {
	since := testTime.Add(-3 * 24 * time.Hour).Unix()
	newFakeAPI(t, homeAnswers(fmt.Sprintf(`{"name":"a","type":"server","state":false,"state_since":%d}`, since))).open(t, "/acme").has(t, `since <time`, "3 days ago</time></span>")
}

func TestHomeBeginsWithWhatNeedsAttention(t *testing.T) {
	silent := fmt.Sprintf(`{"name":"silent","type":"K8S","state":true,"last_reported_at":%d}`, testTime.Add(-time.Hour).Unix())
	for environments, want := range map[string]string{
		``: "There are no environments yet.",
		`{"name":"a","type":"logical","state":true}`: "Nothing here needs attention.",
		silent: "1 reporter of 1 environment silent.",
		`{"name":"a","state":false,"type":"logical","artifact_compliance_count":{"true":1,"false":2}},{"name":"b","state":false,"type":"logical"},` + silent: "2 of 3 environments are not compliant. 1 reporter silent.",
	} {
		api := newFakeAPI(t, homeAnswers(environments))
		api.open(t, "/acme").has(t, want)
	}
}
