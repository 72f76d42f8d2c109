package web

import (
	"fmt"
	"strings"
	"testing"
)

func TestSparklineDrawsVerdicts(t *testing.T) {
	now := float64(testTime.Unix())
	api := newFakeAPI(t, cannedAnswers{"GET /snapshots/acme/prod": canned(fmt.Sprintf(
		`[{"index": 3, "from": %[1]f, "to": 0, "state": true}, {"index": 2, "from": %[2]f, "to": %[1]f, "state": null}, {"index": 1, "from": %[3]f, "to": %[2]f, "state": false}]`,
		now-15*86400, now-20*86400, now-60*86400))})
	drawn := api.open(t, "/acme/environments/prod/sparkline.svg")
	drawn.has(t, `<rect x="120" y="16" width="120" height="8" fill="#2e9e5b"/>`, `<rect x="80" y="21" width="40" height="3" fill="#8a9099"/>`,
		`<rect x="0" y="0" width="80" height="24" fill="#d0453a"/>`, "prod in the last 30 days: 3 snapshots, 1 not compliant, 1 not judged")
	if drawn.header.Get("Content-Type") != "image/svg+xml" || drawn.header.Get("Cache-Control") != "private, max-age=60" {
		t.Errorf("the header is %v", drawn.header)
	}
	if want := fmt.Sprintf("/snapshots/acme/prod?per_page=%d&interval=%%40%%7B30.days.ago%%7D..NOW", maxSparkline); api.queries[0].Target != want {
		t.Errorf("asked for %s, want %s", api.queries[0].Target, want)
	}
}

func TestSparklineOfABusyEnvironmentNamesItsLimit(t *testing.T) {
	now, items := float64(testTime.Unix()), make([]string, maxSparkline)
	for i := range items {
		items[i] = fmt.Sprintf(`{"from": %f, "to": %f, "state": %t}`, now-float64(i+1)*300, now-float64(i)*300, i != maxSparkline/2)
	}
	api := newFakeAPI(t, cannedAnswers{"GET /snapshots/acme/prod": canned("[" + strings.Join(items, ",") + "]")})
	drawn := api.open(t, "/acme/environments/prod/sparkline.svg")
	drawn.has(t, fmt.Sprintf("prod in the last 30 days: the newest %d snapshots, 1 not compliant<", maxSparkline))
	if strings.Count(drawn.text, "<rect") != 4 {
		t.Errorf("neighbors of one verdict are not merged: %s", drawn.text)
	}
}

func TestSparklineWithoutSnapshotsIsAnEmptyLine(t *testing.T) {
	api := newFakeAPI(t, cannedAnswers{"GET /snapshots/acme/%3Cscript%3Ealert%281%29%3C%2Fscript%3E": canned(`[]`)})
	drawn := api.open(t, "/acme/environments/%3Cscript%3Ealert%281%29%3C%2Fscript%3E/sparkline.svg")
	drawn.has(t, escapedScript)
	if strings.Count(drawn.text, "<rect") != 1 {
		t.Errorf("drew %s", drawn.text)
	}
}
