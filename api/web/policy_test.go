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
	api := newFakeAPI(t, cannedAnswers{"GET /policies/acme": withHostile("[" + hostilePolicy + "]")})
	shown := api.open(t, "/acme/policies")
	shown.has(t, escapedScript, "<td>2</td><td>2 environments</td>")
	shown.lacks(t, "second:")
}

func TestPolicyShowsItsNewestVersion(t *testing.T) {
	api := newFakeAPI(t, cannedAnswers{
		"GET /policies/acme/p1": withHostile(hostilePolicy), "GET /log/acme/entries": canned(`{"entries":[{"fact":"policy/p1:2","index":5}]}`),
	})
	shown := api.open(t, "/acme/policies/p1")
	shown.has(t, escapedScript, "second: ", "new version 2", `<a href="/api/v2/log/acme/proof/policy/p1:2" download>logged as entry 5</a>`)
	shown.lacks(t, "first: ")
}

func TestPolicyShowsVersionsSideBySide(t *testing.T) {
	api := newFakeAPI(t, cannedAnswers{"GET /policies/acme/p1": withHostile(hostilePolicy)})
	shown := api.open(t, "/acme/policies/p1?left=1&right=2")
	shown.has(t, escapedScript, "first: ", "second: ")
	if strings.Index(shown.text, "first: ") > strings.Index(shown.text, "second: ") {
		t.Error("the left version is on the right")
	}
	api.open(t, "/acme/policies/p1?left=1&right=9").has(t, "There is no such version")
}

func TestLongFilesAreCut(t *testing.T) {
	long := strings.Repeat("<", 2*maxFile)
	api := newFakeAPI(t, cannedAnswers{"GET /policies/acme/p1": canned(`{"name": "p1", "versions": [
		{"version": 1, "policy_yaml": "` + long + `"}, {"version": 2, "policy_yaml": "` + long + `"}]}`)})
	for _, query := range []string{"", "?left=1&right=2"} {
		api.open(t, "/acme/policies/p1"+query).has(t, "longer than this page shows", `href="/api/v2/policies/acme/p1"`)
	}
}
