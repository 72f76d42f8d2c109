package web

import (
	"net/http"
	"testing"
)

const prodEnvironment = `{"name": "prod", "type": "K8S"}`

func TestDiffShowsWhatChanged(t *testing.T) {
	api := newFakeAPI(t, cannedAnswers{
		"GET /environments/acme/prod": canned(prodEnvironment),
		"GET /env-diff/acme": withHostile(`{"snappish1": {"snapshot_id": "prod#1", "artifacts": [{"name": "%[1]s", "fingerprint": "aa", "flow": "%[2]s", "commit_url": "%[3]s", "instance_count": 1}]},
			"snappish2": {"snapshot_id": "prod#2", "artifacts": []},
			"changed": {"artifacts": [{"name": "api", "fingerprint": "bb", "flow": "", "s1_instance_count": 2, "s2_instance_count": 3}]},
			"not-changed": {"artifacts": [{"name": "a"}, {"name": "b"}]}}`),
	})
	api.open(t, "/acme/environments/prod/diff?from=1&to=stage~1").has(t,
		escapedScript, "2 artifacts changed, 2 did not", "runs no more, was 1 instance", "from 2 to 3 instances", `href="/acme/environments/prod/snapshots/2"`)
	if want := "/env-diff/acme?snappish1=prod%231&snappish2=stage~1"; api.queries[1].Target != want {
		t.Errorf("asked for %s, want %s", api.queries[1].Target, want)
	}
}

func TestDiffOfUnknownSnapshotKeepsTheForm(t *testing.T) {
	api := newFakeAPI(t, cannedAnswers{"GET /environments/acme/prod": canned(prodEnvironment)})
	api.open(t, "/acme/environments/prod/diff?from=9").answers(t, http.StatusNotFound, escapedScript, `name="from" value="9"`)
}

func TestRenamedEnvironmentIsRedirectedToItsNewName(t *testing.T) {
	api := newFakeAPI(t, cannedAnswers{"GET /environments/acme/old": canned(prodEnvironment)})
	api.open(t, "/acme/environments/old/events?page=2").redirects(t, http.StatusFound, "/acme/environments/prod/events?page=2")
}
