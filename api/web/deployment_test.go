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
	for _, want := range []string{"<td>2</td><td>2.0 h</td><td>1</td>", "gone</bdi>, archived", "frequency.svg?end=1774958400&amp;environment="} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in %s", want, shown)
		}
	}
	if len(site.asked) != 5 || !strings.Contains(site.asked[0].Target, "env_name=%22+onmouseover%3D%22x") {
		t.Errorf("asked %d times", len(site.asked))
	}
}

func TestChartsAreWellFormed(t *testing.T) {
	for _, deployments := range []string{"", `{"lead_time_seconds": 3600}`, `{"lead_time_seconds": -3600}, {"lead_time_seconds": 9e9}`} {
		site := newGovernanceSite(t, map[string]cannedAnswer{"/deployments/acme": {body: `{"total_count": 1, "deployments": [` + deployments + `]}`}})
		for _, name := range []string{"frequency", "lead-time"} {
			answer, drawn := site.open(t, "/acme/deployments/"+name+".svg?end=NaN&environment=%3Cscript%3E")
			if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "image/svg+xml" || strings.Contains(drawn, "script") {
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
}
