package web

import (
	"net/http"
	"strings"
	"testing"
)

const prodEnvironment = `{"name": "prod", "type": "K8S"}`

func TestDiffShowsWhatChanged(t *testing.T) {
	site := newGovernanceSite(t, map[string]cannedAnswer{
		"/environments/acme/prod": {body: prodEnvironment},
		"/env-diff/acme": withHostile(`{"snappish1": {"snapshot_id": "prod#1", "artifacts": [{"name": "%[1]s", "fingerprint": "aa", "flow": "%[2]s", "commit_url": "%[3]s", "instance_count": 1}]},
			"snappish2": {"snapshot_id": "prod#2", "artifacts": []},
			"changed": {"artifacts": [{"name": "api", "fingerprint": "bb", "flow": "", "s1_instance_count": 2, "s2_instance_count": 3}]},
			"not-changed": {"artifacts": [{"name": "a"}, {"name": "b"}]}}`),
	})
	_, shown := site.open(t, "/acme/environments/prod/diff?from=1&to=stage~1")
	checkHarmless(t, shown)
	for _, want := range []string{"2 artifacts changed, 2 did not", "runs no more, was 1 instance", "from 2 to 3 instances", `href="/acme/environments/prod/snapshots/2"`} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in %s", want, shown)
		}
	}
	if want := "/env-diff/acme?snappish1=prod%231&snappish2=stage~1"; site.asked[1].Target != want {
		t.Errorf("asked for %s, want %s", site.asked[1].Target, want)
	}
}

func TestDiffOfUnknownSnapshotKeepsTheForm(t *testing.T) {
	site := newGovernanceSite(t, map[string]cannedAnswer{
		"/environments/acme/prod": {body: prodEnvironment},
		"/env-diff/acme":          {status: http.StatusNotFound, body: `{"message": "<script>alert(1)"}`},
	})
	answer, shown := site.open(t, "/acme/environments/prod/diff?from=9")
	checkHarmless(t, shown)
	if answer.StatusCode != http.StatusNotFound || !strings.Contains(shown, `name="from" value="9"`) {
		t.Errorf("answered %d: %s", answer.StatusCode, shown)
	}
}

func TestRenamedEnvironmentLeadsToItsName(t *testing.T) {
	site := newGovernanceSite(t, map[string]cannedAnswer{"/environments/acme/old": {body: prodEnvironment}})
	answer, _ := site.open(t, "/acme/environments/old/events?page=2")
	if answer.StatusCode != http.StatusFound || answer.Header.Get("Location") != "/acme/environments/prod/events?page=2" {
		t.Errorf("answered %d to %s", answer.StatusCode, answer.Header.Get("Location"))
	}
}
