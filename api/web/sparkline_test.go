package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestSparklineDrawsVerdicts(t *testing.T) {
	now := float64(governanceTime.Unix())
	site := newGovernanceSite(t, map[string]cannedAnswer{"/snapshots/acme/prod": {body: fmt.Sprintf(
		`[{"index": 3, "from": %[1]f, "to": 0, "state": true}, {"index": 2, "from": %[2]f, "to": %[1]f, "state": null}, {"index": 1, "from": %[3]f, "to": %[2]f, "state": false}]`,
		now-15*86400, now-20*86400, now-60*86400)}})
	answer, drawn := site.open(t, "/acme/environments/prod/sparkline.svg")
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "image/svg+xml" || answer.Header.Get("Cache-Control") != "private, max-age=60" {
		t.Errorf("answered %d with %v", answer.StatusCode, answer.Header)
	}
	for _, want := range []string{
		`<rect x="120" y="16" width="120" height="8" fill="#2e9e5b"/>`, `<rect x="80" y="21" width="40" height="3" fill="#8a9099"/>`,
		`<rect x="0" y="0" width="80" height="24" fill="#d0453a"/>`, "prod in the last 30 days: 3 snapshots, 1 not compliant, 1 not judged",
	} {
		if !strings.Contains(drawn, want) {
			t.Errorf("%s is not in %s", want, drawn)
		}
	}
	if want := "/snapshots/acme/prod?per_page=1000&interval=%40%7B30.days.ago%7D..NOW"; site.asked[0].Target != want {
		t.Errorf("asked for %s, want %s", site.asked[0].Target, want)
	}
}

func TestSparklineOfABusyEnvironmentSaysWhatItShows(t *testing.T) {
	now, items := float64(governanceTime.Unix()), make([]string, maxSparkline)
	for i := range items {
		items[i] = fmt.Sprintf(`{"from": %f, "to": %f, "state": %t}`, now-float64(i+1)*300, now-float64(i)*300, i != 500)
	}
	site := newGovernanceSite(t, map[string]cannedAnswer{"/snapshots/acme/prod": {body: "[" + strings.Join(items, ",") + "]"}})
	_, drawn := site.open(t, "/acme/environments/prod/sparkline.svg")
	if !strings.Contains(drawn, "prod in the last 30 days: the newest 1000 snapshots, 1 not compliant<") {
		t.Errorf("the title is not that of a full list: %s", drawn)
	}
	if strings.Count(drawn, "<rect") != 4 {
		t.Errorf("neighbors of one verdict are not merged: %s", drawn)
	}
}

func TestSparklineOfNothingIsAnEmptyLine(t *testing.T) {
	site := newGovernanceSite(t, map[string]cannedAnswer{"/snapshots/acme/%3Cscript%3Ealert%281%29%3C%2Fscript%3E": {body: `[]`}})
	_, drawn := site.open(t, "/acme/environments/%3Cscript%3Ealert%281%29%3C%2Fscript%3E/sparkline.svg")
	checkHarmless(t, drawn)
	if strings.Count(drawn, "<rect") != 1 {
		t.Errorf("drew %s", drawn)
	}
}

func TestPagesNeedASession(t *testing.T) {
	site := newGovernanceSite(t, nil)
	site.cookies = nil
	answer, _ := site.open(t, "/acme/environments/prod/sparkline.svg")
	if answer.StatusCode != http.StatusSeeOther || len(site.asked) > 0 {
		t.Errorf("answered %d, asked %v", answer.StatusCode, site.asked)
	}
}
