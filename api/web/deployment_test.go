package web

import (
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestDeploymentsAreShownWithTheirStatistics(t *testing.T) {
	site := newGovernanceSite(t, map[string]cannedAnswer{"/deployments/acme": withHostile(`{"total_pages": 1, "total_count": 2, "deployments": [
		{"deployed_at": 5, "fingerprint": "aa", "artifact_name": "%[1]s", "env_name": "%[2]s", "snapshot_index": 3, "lead_time_seconds": 7200,
			"artifact": {"flow_name": "%[1]s", "trail_name": "%[2]s"}, "diff_url": "%[3]s", "_links": {"self": {}}},
		{"deployed_at": 4, "fingerprint": "bb", "artifact_name": "db", "env_name": "gone", "snapshot_index": 1, "lead_time_seconds": null, "artifact": null, "diff_url": null, "_links": {}}]}`)})
	_, shown := site.open(t, "/acme/deployments?environment=%22+onmouseover%3D%22x")
	checkHarmless(t, shown)
	for _, want := range []string{"<td>2</td><td>2.0 h</td><td>1</td>", "gone</bdi>, archived", "frequency.svg?from=1772539200&amp;n=2&amp;n=2&amp;n=2&amp;n=2", "lead-time.svg?from=1772539200&amp;n=2&amp;n=2&amp;n=2&amp;n=2"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in %s", want, shown)
		}
	}
	if len(site.asked) != 5 || !strings.Contains(site.asked[0].Target, "env_name=%22+onmouseover%3D%22x") {
		t.Errorf("asked %d times", len(site.asked))
	}
}

func TestChartsCanDrawAnyLeadTime(t *testing.T) {
	for seconds, want := range map[float64]float64{7200: 2, -3600: 0, 1e300: maxCharted} {
		if got := (&deploymentWeek{Median: &seconds}).leadHours(); got != want {
			t.Errorf("%g seconds are drawn as %g, want %g", seconds, got, want)
		}
	}
}

func TestChartsDrawTheNumbersOfTheirAddress(t *testing.T) {
	site := newGovernanceSite(t, nil)
	for _, numbers := range []string{"n=0&n=0&n=0&n=0", "n=3&n=5&n=2.5&n=0", "n=1e12&n=1&n=0&n=0"} {
		for _, name := range []string{"frequency", "lead-time"} {
			answer, drawn := site.open(t, "/acme/deployments/"+name+".svg?from=1772539200&"+numbers)
			if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "image/svg+xml" || !strings.Contains(drawn, "3 Mar") {
				t.Fatalf("answered %d: %s", answer.StatusCode, drawn)
			}
			decoder := xml.NewDecoder(strings.NewReader(drawn))
			for {
				if _, err := decoder.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%v in %s", err, drawn)
				}
			}
		}
	}
	if len(site.asked) > 0 {
		t.Errorf("asked %v", site.asked)
	}
}

func TestChartsRefuseWhatAreNoNumbersOfFourWeeks(t *testing.T) {
	site := newGovernanceSite(t, nil)
	for _, query := range []string{
		"", "n=1&n=1&n=1&n=1", "from=&n=1&n=1&n=1&n=1", "from=%3Cscript%3E&n=1&n=1&n=1&n=1", "from=1", "from=1&n=1&n=1&n=1", "from=1&n=1&n=1&n=1&n=1&n=1",
		"from=1&n=NaN&n=1&n=1&n=1", "from=1&n=1&n=Inf&n=1&n=1", "from=1&n=1&n=1&n=-1&n=1", "from=1&n=1&n=1&n=1&n=1e400", "from=1&n=1&n=1&n=1&n=1e300",
		"from=1&n=1&n=1&n=1&n=", "from=1&n=1&n=1&n=1&n=%3Cscript%3Ealert(1)",
	} {
		answer, shown := site.open(t, "/acme/deployments/frequency.svg?"+query)
		if answer.StatusCode != http.StatusBadRequest || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") || strings.Contains(shown, "<script>alert") {
			t.Errorf("%s: answered %d", query, answer.StatusCode)
		}
	}
}

func TestChartsNeedASession(t *testing.T) {
	site := newGovernanceSite(t, nil)
	site.cookies = nil
	answer, _ := site.open(t, "/acme/deployments/lead-time.svg?from=1772539200&n=1&n=1&n=1&n=1")
	if answer.StatusCode != http.StatusSeeOther {
		t.Errorf("answered %d", answer.StatusCode)
	}
}
