package web

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"
)

const day = 86400.0

// timelineAPI has an environment whose last report is a number of days old. before are the artifacts of the snapshot of
// seven days ago, events those since then, newest first.
func timelineAPI(t *testing.T, reported float64, before string, events ...string) *fakeAPI {
	t.Helper()
	log := canned("[" + strings.Join(events, ",") + "]")
	log[0].header = map[string]string{"X-Total-Pages": "1"}
	return newFakeAPI(t, cannedAnswers{
		"GET /environments/acme/prod":                         canned(fmt.Sprintf(`{"name":"prod","type":"K8S","last_reported_at":%f}`, daysAgo(reported))),
		"GET /environments/acme/prod/events":                  log,
		"GET /snapshots/acme/prod/@%7B2026-03-24T12:00:00%7D": canned(`{"artifacts":[` + before + `]}`),
	})
}

func daysAgo(days float64) float64 { return float64(testTime.Unix()) - days*day }

// happened returns an event of an artifact of the flow checkout, a number of days ago.
func happened(days float64, name, event, verdict string, snapshot int) string {
	return fmt.Sprintf(`{"snapshot_index":%d,"artifact_name":%q,"sha256":"fp-%s","type":%q,"artifact_compliance":%s,"reported_at":%f,"pipeline":"checkout"}`,
		snapshot, name, name, event, verdict, daysAgo(days))
}

func TestTimelineShowsArtifactsWithTimesAndVerdicts(t *testing.T) {
	api := timelineAPI(t, 0, `{"name":"old","fingerprint":"fp-old","compliant":true,"annotation":{"type":"unchanged"}},
		{"name":"`+script+`","fingerprint":"fp-h","compliant":null,"annotation":{"type":"unchanged"}}, {"name":"gone","fingerprint":"fp-gone","annotation":{"type":"exited"}}`,
		happened(1, "new", "exited", "true", 7), happened(1.5, "new", "updated-provenance", "true", 6), happened(2, "new", "became-compliant", "true", 5),
		happened(3, "old", "exited", "true", 4), happened(3, "new", "started-non-compliant", "false", 4))
	page := api.open(t, "/acme/environments/prod/timeline")
	page.has(t, escapedScript, ">24 Mar 2026, 12:00<", `<h2 id="words">The same in words</h2>`, `href="/acme/flows/checkout/artifacts/fp-new"`,
		`<a href="/acme/environments/prod/snapshots/4">`, `<a href="/acme/environments/prod/snapshots/5">`,
		`<title>compliant from 24 Mar 12:00 to 28 Mar 12:00</title><rect class="good" x="0.00%" y="3" width="57.14%"`,
		`<title>not compliant from 28 Mar 12:00 to 29 Mar 12:00</title><rect class="bad" x="57.14%" y="3" width="14.29%"`,
		`<title>compliant from 29 Mar 12:00 to 30 Mar 12:00</title>`, `<title>not judged from 24 Mar 12:00 to 31 Mar 12:00</title><rect class="unknown"`,
		"still running at <time", `text-anchor="middle">26 Mar<`, `aria-current="page">7 days<`)
	page.lacks(t, "gone", "snapshots/6", "snapshots/7", "Nothing was reported")
	if len(api.queries) != 3 {
		t.Errorf("asked the API %d times: %v", len(api.queries), api.queries)
	}
	api.open(t, "/acme/environments/prod/timeline?name=OL").lacks(t, ">new<", escapedScript)
}

func TestTimelineMarksTimesWithoutReports(t *testing.T) {
	api := timelineAPI(t, 1, "", happened(2, "new", "started-unknown", "null", 1))
	delete(api.answers, "GET /snapshots/acme/prod/@%7B2026-03-24T12:00:00%7D")
	page := api.open(t, "/acme/environments/prod/timeline")
	page.has(t, `Nothing was reported after <time datetime="2026-03-30T12:00:00Z"`, `<rect width="71.43%" height="100%" fill="url(#untold)"/><rect x="85.71%" width="14.29%"`)
	api = timelineAPI(t, 9, "")
	api.open(t, "/acme/environments/prod/timeline").has(t, "Nothing is known of this time")
	if len(api.queries) != 1 {
		t.Errorf("asked the API %d times", len(api.queries))
	}
	api = timelineAPI(t, 0, "")
	api.open(t, "/acme/environments/prod/timeline").has(t, "Nothing that matches ran")
	api.answers["GET /environments/acme/prod"] = canned(`{"name":"prod","type":"logical","included_environments":["member"]}`)
	api.open(t, "/acme/environments/prod/timeline").has(t, `<a href="/acme/environments/member/timeline">`)
}

func TestTimelineShowsTheRequestedTime(t *testing.T) {
	api := timelineAPI(t, 0, "")
	for query, want := range map[string]string{
		"from=2026-03-24T12:00&to=2026-03-25T00:00": "start_ts=1774353600.000000",
		"from=2026-03-24T12:00&to=2036-03-25T00:00": fmt.Sprintf("end_ts=%.6f", daysAgo(0)),
		"days=30": fmt.Sprintf("start_ts=%.6f", daysAgo(30)),
		"days=x&from=2026-03-24T12:00&to=2026-03-24T12:00": fmt.Sprintf("start_ts=%.6f", daysAgo(7)),
	} {
		api.queries = nil
		api.open(t, "/acme/environments/prod/timeline?"+query).has(t, "What ran when")
		if got := api.queries[1].Target; !strings.Contains(got, want) {
			t.Errorf("%s asks for %s, want %s", query, got, want)
		}
	}
}

func TestTimelineOfABusyEnvironmentIsBounded(t *testing.T) {
	var events, before []string
	for i := range 100 {
		events = append(events, happened(1+float64(i)/100, fmt.Sprintf("e%d", i), "started-compliant", "true", 1))
	}
	for i := range 600 {
		before = append(before, fmt.Sprintf(`{"name":"%s%d","fingerprint":"%d","annotation":{"type":"unchanged"}}`, strings.Repeat("n", 200), i, i))
	}
	api := timelineAPI(t, 0, "", events...)
	api.answers["GET /environments/acme/prod/events"][0].header["X-Total-Pages"] = "9"
	from := math.Ceil(daysAgo(1.99))
	at := time.Unix(int64(from), 0).UTC().Format("2006-01-02T15:04:05")
	api.answers["GET /snapshots/acme/prod/@%7B"+at+"%7D"] = canned(`{"artifacts":[` + strings.Join(before, ",") + `]}`)
	page := api.open(t, "/acme/environments/prod/timeline?name=n")
	page.answers(t, http.StatusOK, "the newest 300 are shown", "100 artifacts more ran", "Page 1 of 10")
	if len(api.queries) != 2+maxEventReads {
		t.Errorf("asked the API %d times", len(api.queries))
	}
}

func TestTimelineSaysWhyAnotherTimeIsShown(t *testing.T) {
	for query, want := range map[string]string{
		"from=2026-03-25T12:00&to=2026-03-24T12:00": "The end of that time is not behind its beginning. The last 7 days are shown.",
		"from=2036-03-24T12:00&to=2036-03-25T12:00": "That time has not come yet.",
		"from=0026-03-24T12:00&to=1969-12-31T12:00": "That time is before 1970. The last 7 days are shown.",
		"from=2026-03-25T12:00":                     "That time needs a beginning and an end.",
		"from=x&to=2026-03-24T12:00&days=3":         "That time needs a beginning and an end. The last 3 days are shown.",
	} {
		timelineAPI(t, 0, "").open(t, "/acme/environments/prod/timeline?"+query).has(t, want)
	}
}

func TestTimelineOfAllTimeBeginsIn1970(t *testing.T) {
	api := timelineAPI(t, 0, "")
	page := api.open(t, "/acme/environments/prod/timeline?from=0001-01-01T00:00&to=9999-12-31T23:59")
	page.answers(t, http.StatusOK, "1 Jan 1970")
}
