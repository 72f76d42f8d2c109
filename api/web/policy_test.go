package web

import (
	"strings"
	"testing"
)

const hostilePolicy = `{"name": "p1", "description": "%[1]s", "last_modified_at": 1, "created_by": "%[2]s", "versions": [
	{"version": 1, "comment": "%[1]s", "timestamp": 1, "created_by": "%[2]s", "policy_yaml": "first: %[1]s"},
	{"version": 2, "comment": "%[3]s", "timestamp": 2, "created_by": "ada", "policy_yaml": "second: %[1]s %[2]s"}],
	"events": [{"type": "policy_created", "timestamp": 1, "user": "%[1]s", "data": {"version": 1}}, {"type": "new_version", "timestamp": 1, "user": "%[2]s", "data": {"version": 2}}],
	"consuming_envs": ["%[1]s", "prod"]}`

func TestPoliciesAreListed(t *testing.T) {
	site := newGovernanceSite(t, map[string]cannedAnswer{"/policies/acme": withHostile("[" + hostilePolicy + "]")})
	_, shown := site.open(t, "/acme/policies")
	checkHarmless(t, shown)
	if !strings.Contains(shown, "<td>2</td><td>2 environments</td>") || strings.Contains(shown, "second:") {
		t.Errorf("shows %s", shown)
	}
}

func TestPolicyShowsItsNewestVersion(t *testing.T) {
	site := newGovernanceSite(t, map[string]cannedAnswer{"/policies/acme/p1": withHostile(hostilePolicy)})
	_, shown := site.open(t, "/acme/policies/p1")
	checkHarmless(t, shown)
	if !strings.Contains(shown, "second: ") || strings.Contains(shown, "first: ") || !strings.Contains(shown, "new version 2") {
		t.Errorf("shows %s", shown)
	}
}

func TestPolicyShowsVersionsSideBySide(t *testing.T) {
	site := newGovernanceSite(t, map[string]cannedAnswer{"/policies/acme/p1": withHostile(hostilePolicy)})
	_, shown := site.open(t, "/acme/policies/p1?left=1&right=2")
	checkHarmless(t, shown)
	if left, right := strings.Index(shown, "first: "), strings.Index(shown, "second: "); left < 0 || right < left {
		t.Errorf("shows %s", shown)
	}
	if _, shown = site.open(t, "/acme/policies/p1?left=1&right=9"); !strings.Contains(shown, "There is no such version") {
		t.Errorf("shows %s", shown)
	}
}

func TestLongFilesAreCut(t *testing.T) {
	long := strings.Repeat("<", 2*maxFile)
	site := newGovernanceSite(t, map[string]cannedAnswer{"/policies/acme/p1": {body: `{"name": "p1", "versions": [
		{"version": 1, "policy_yaml": "` + long + `"}, {"version": 2, "policy_yaml": "` + long + `"}]}`}})
	for _, query := range []string{"", "?left=1&right=2"} {
		_, shown := site.open(t, "/acme/policies/p1"+query)
		if len(shown) > 150_000 || !strings.Contains(shown, "longer than this page shows") || !strings.Contains(shown, `href="/api/v2/policies/acme/p1"`) {
			t.Errorf("%q has %d bytes", query, len(shown))
		}
	}
}
