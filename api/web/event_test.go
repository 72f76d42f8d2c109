package web

import "testing"

func TestEventsArePaged(t *testing.T) {
	log := withHostile(`[{"environment_name": "prod", "snapshot_index": 7, "artifact_name": "%[1]s", "sha256": "aa", "description": "%[2]s",
		"reported_at": 1, "pipeline": "%[2]s", "artifact_compliance": null, "code_diff": "%[3]s"}]`)
	log[0].header = map[string]string{"X-Total-Pages": "3"}
	api := newFakeAPI(t, cannedAnswers{"GET /environments/acme/prod": canned(prodEnvironment), "GET /environments/acme/prod/events": log})
	api.open(t, "/acme/environments/prod/events?page=2").has(t,
		escapedScript, "Page 2 of 3", `href="?page=1"`, `href="?page=3"`, `href="/acme/environments/prod/snapshots/7"`, "per_page=50&amp;page=2")
}
