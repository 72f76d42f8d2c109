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
	api := newFakeAPI(t, cannedAnswers{"GET /deployments/acme": withHostile(`{"total_pages": 1, "total_count": 2, "deployments": [
		{"deployed_at": 5, "fingerprint": "aa", "artifact_name": "%[1]s", "env_name": "%[2]s", "snapshot_index": 3, "lead_time_seconds": 7200,
			"artifact": {"flow_name": "%[1]s", "trail_name": "%[2]s"}, "diff_url": "%[3]s", "_links": {"self": {}}},
		{"deployed_at": 4, "fingerprint": "bb", "artifact_name": "db", "env_name": "gone", "snapshot_index": 1, "lead_time_seconds": null, "artifact": null, "diff_url": null, "_links": {}}]}`)})
	api.open(t, "/acme/deployments?environment=%22+onmouseover%3D%22x").has(t,
		escapedScript, "<td>2</td><td>2.0 h</td><td>1</td>", "gone</bdi>, archived", "chart.svg?from=1772539200&amp;n=2&amp;n=2&amp;n=2&amp;n=2")
	if len(api.asked) != 5 || !strings.Contains(api.asked[0].Target, "env_name=%22+onmouseover%3D%22x") {
		t.Errorf("asked %d times", len(api.asked))
	}
}

func TestChartsDrawTheNumbersOfTheirAddress(t *testing.T) {
	api := newFakeAPI(t, nil)
	for _, numbers := range []string{"n=0&n=0&n=0&n=0", "n=3&n=5&n=2.5&n=0", "n=1e12&n=1&n=0&n=0"} {
		drawn := api.open(t, "/acme/deployments/chart.svg?from=1772539200&"+numbers)
		drawn.has(t, "3 Mar")
		if kind := drawn.header.Get("Content-Type"); kind != "image/svg+xml" {
			t.Errorf("the type is %s", kind)
		}
		decoder := xml.NewDecoder(strings.NewReader(drawn.text))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v in %s", err, drawn.text)
			}
		}
	}
	if len(api.asked) > 0 {
		t.Errorf("asked %v", api.asked)
	}
}

func TestChartsRefuseWhatAreNoNumbersOfFourWeeks(t *testing.T) {
	api := newFakeAPI(t, nil)
	for _, query := range []string{
		"", "n=1&n=1&n=1&n=1", "from=&n=1&n=1&n=1&n=1", "from=%3Cscript%3E&n=1&n=1&n=1&n=1", "from=1", "from=1&n=1&n=1&n=1", "from=1&n=1&n=1&n=1&n=1&n=1",
		"from=1&n=NaN&n=1&n=1&n=1", "from=1&n=1&n=Inf&n=1&n=1", "from=1&n=1&n=1&n=-1&n=1", "from=1&n=1&n=1&n=1&n=1e400", "from=1&n=1&n=1&n=1&n=1e300",
		"from=1&n=1&n=1&n=1&n=", "from=1&n=1&n=1&n=1&n=%3Cscript%3Ealert(1)",
	} {
		api.open(t, "/acme/deployments/chart.svg?"+query).answers(t, http.StatusBadRequest, "<h1")
	}
}
