package web

import (
	"strings"
	"testing"
)

func TestEventsArePaged(t *testing.T) {
	log := withHostile(`[{"environment_name": "prod", "snapshot_index": 7, "artifact_name": "%[1]s", "sha256": "aa", "description": "%[2]s",
		"reported_at": 1, "pipeline": "%[2]s", "artifact_compliance": null, "code_diff": "%[3]s"}]`)
	log.header = map[string]string{"X-Total-Pages": "3"}
	site := newGovernanceSite(t, map[string]cannedAnswer{"/environments/acme/prod": {body: prodEnvironment}, "/environments/acme/prod/events": log})
	_, shown := site.open(t, "/acme/environments/prod/events?page=2")
	checkHarmless(t, shown)
	for _, want := range []string{"Page 2 of 3", `href="?page=1"`, `href="?page=3"`, `href="/acme/environments/prod/snapshots/7"`, "per_page=50&amp;page=2"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in %s", want, shown)
		}
	}
}
