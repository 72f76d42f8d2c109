package web

import (
	"strings"
	"testing"
)

func TestDeploymentsAreShownWithTheirStatistics(t *testing.T) {
	api := newFakeAPI(t, cannedAnswers{"GET /deployments/acme": withHostile(`{"total_pages": 1, "total_count": 2, "deployments": [
		{"deployed_at": 5, "fingerprint": "aa", "artifact_name": "%[1]s", "env_name": "%[2]s", "snapshot_index": 3, "lead_time_seconds": 7200,
			"artifact": {"flow_name": "%[1]s", "trail_name": "%[2]s"}, "diff_url": "%[3]s", "_links": {"self": {}}},
		{"deployed_at": 4, "fingerprint": "bb", "artifact_name": "db", "env_name": "gone", "snapshot_index": 1, "lead_time_seconds": null, "artifact": null, "diff_url": null, "_links": {}}]}`)})
	api.open(t, "/acme/deployments?environment=%22+onmouseover%3D%22x").has(t,
		escapedScript, `<td>2 <svg`, `viewBox="0 0 2 1"`, "<td>2.0 h", `viewBox="0 0 7200 1"`, "gone</bdi>, archived")
	if len(api.queries) != 5 || !strings.Contains(api.queries[0].Target, "env_name=%22+onmouseover%3D%22x") {
		t.Errorf("asked %d times", len(api.queries))
	}
}
