package web

import (
	"fmt"
	"net/http"
	"testing"
)

const (
	noEnvironments = `{"total_count": 0, "environments": []}`
	noFlows        = `{"data": [], "pagination": {"total": 0}}`
)

// foundNothing are the answers to a search for a name that nothing has.
func foundNothing() cannedAnswers {
	return cannedAnswers{
		"GET /environments/acme": canned(noEnvironments), "GET /flows/acme": canned(noFlows),
		"GET /controls/acme": refused(http.StatusForbidden, `{"message": "Experimental features are not enabled for this organization"}`),
	}
}

func TestSearchLeadsToTheOnlyArtifact(t *testing.T) {
	answers := foundNothing()
	answers["GET /search/acme/sha/"+fingerprint] = canned(`{"resolved_to": {"type": "fingerprint", "full_match": "` + fingerprint + `"},
		"artifacts": [{"fingerprint": "` + fingerprint + `", "has_provenance": true, "flow": "a/b", "html_url": "javascript:alert(1)"}]}`)
	newFakeAPI(t, answers).open(t, "/acme/search?q="+fingerprint).redirects(t, http.StatusSeeOther, "/acme/flows/a%2Fb/artifacts/"+fingerprint)
}

func TestSearchShowsAllFlowsThatHaveReportedAFingerprint(t *testing.T) {
	answers := foundNothing()
	found := `{"fingerprint": "` + fingerprint + `", "has_provenance": true, "flow": "%s"}`
	answers["GET /search/acme/sha/"+fingerprint] = canned(`{"resolved_to": {"type": "fingerprint", "full_match": "` + fingerprint + `"},
		"artifacts": [` + fmt.Sprintf(found, "build") + "," + fmt.Sprintf(found, "build") + "," + fmt.Sprintf(found, "release") + `]}`)
	newFakeAPI(t, answers).open(t, "/acme/search?q="+fingerprint).has(t,
		`href="/acme/flows/build/artifacts/`+fingerprint+`"`, `href="/acme/flows/release/artifacts/`+fingerprint+`"`)
}

func TestSearchShowsSeveral(t *testing.T) {
	answers := foundNothing()
	answers["GET /environments/acme"] = withHostile(`{"total_count": 30, "environments": [{"name": "%[1]s", "description": "%[2]s"}]}`)
	answers["GET /search/acme/sha/abcde"] = withHostile(`{"resolved_to": {"type": "mixed", "full_match": null}, "artifacts": [
		{"fingerprint": "abcde1", "name": "%[1]s", "has_provenance": true, "flow": "%[2]s", "trail": "%[3]s", "git_commit": "abcde2abcde2", "commit_url": "%[3]s", "compliance_state": "COMPLIANT", "running_in": ["%[1]s"]},
		{"fingerprint": "abcde3", "name": "%[2]s", "has_provenance": false, "git_commit": "0000000000", "html_url": "%[3]s", "running_in": []}]}`)
	newFakeAPI(t, answers).open(t, "/acme/search?q=abcde").has(t, escapedScript, "There are more environments", "no provenance", "compliant")
}

func TestSearchSaysThatNothingWasFound(t *testing.T) {
	api := newFakeAPI(t, foundNothing())
	for _, query := range []string{"abcdef", "%3Cscript%3Ealert(1)"} {
		api.open(t, "/acme/search?q="+query).has(t, "Nothing was found for")
	}
	asked := len(api.asked)
	api.open(t, "/acme/search?q=+").has(t)
	if len(api.asked) > asked {
		t.Errorf("a search for nothing asks %v", api.asked[asked:])
	}
}
