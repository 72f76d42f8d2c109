package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestSparklineDrawsEachSnapshot(t *testing.T) {
	now := float64(governanceTime.Unix())
	site := newGovernanceSite(t, map[string]cannedAnswer{"/snapshots/acme/prod": {body: fmt.Sprintf(
		`[{"index": 2, "from": %f, "to": 0, "compliant": true}, {"index": 1, "from": %f, "to": %f, "compliant": false}]`,
		now-15*86400, now-60*86400, now-15*86400)}})
	answer, drawn := site.open(t, "/acme/environments/prod/sparkline.svg")
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "image/svg+xml" || answer.Header.Get("Cache-Control") != "private, max-age=60" {
		t.Errorf("answered %d with %v", answer.StatusCode, answer.Header)
	}
	for _, want := range []string{
		`<rect x="120.00" y="16" width="120.00" height="8" fill="#2e9e5b"/>`, `<rect x="0.00" y="0" width="120.00" height="24" fill="#d0453a"/>`,
		"prod in the last 30 days: 2 snapshots, 1 not compliant",
	} {
		if !strings.Contains(drawn, want) {
			t.Errorf("%s is not in %s", want, drawn)
		}
	}
	if want := "/snapshots/acme/prod?per_page=200&interval=%40%7B30.days.ago%7D..NOW"; site.asked[0].Target != want {
		t.Errorf("asked for %s, want %s", site.asked[0].Target, want)
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
