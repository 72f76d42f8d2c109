package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const (
	noEnvironments = `{"total_count": 0, "environments": []}`
	noFlows        = `{"data": [], "pagination": {"total": 0}}`
)

// foundNothing are the answers to a search for a name that nothing has.
func foundNothing() map[string]cannedAnswer {
	return map[string]cannedAnswer{
		"/environments/acme": {body: noEnvironments}, "/flows/acme": {body: noFlows},
		"/controls/acme": {status: http.StatusForbidden, body: `{"message": "Experimental features are not enabled for this organization"}`},
	}
}

func TestSearchLeadsToTheOnlyArtifact(t *testing.T) {
	print := strings.Repeat("ab", 32)
	answers := foundNothing()
	answers["/search/acme/sha/"+print] = cannedAnswer{body: `{"resolved_to": {"type": "fingerprint", "full_match": "` + print + `"},
		"artifacts": [{"fingerprint": "` + print + `", "has_provenance": true, "flow": "a/b", "html_url": "javascript:alert(1)"}]}`}
	site := newGovernanceSite(t, answers)
	answer, _ := site.open(t, "/acme/search?q="+print)
	if want := "/acme/flows/a%2Fb/artifacts/" + print; answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != want {
		t.Errorf("answered %d to %s", answer.StatusCode, answer.Header.Get("Location"))
	}
}

func TestSearchShowsAllFlowsThatHaveReportedAFingerprint(t *testing.T) {
	answers := foundNothing()
	found := `{"fingerprint": "` + fingerprint + `", "has_provenance": true, "flow": "%s"}`
	answers["/search/acme/sha/"+fingerprint] = cannedAnswer{body: `{"resolved_to": {"type": "fingerprint", "full_match": "` + fingerprint + `"},
		"artifacts": [` + fmt.Sprintf(found, "build") + "," + fmt.Sprintf(found, "build") + "," + fmt.Sprintf(found, "release") + `]}`}
	answer, shown := newGovernanceSite(t, answers).open(t, "/acme/search?q="+fingerprint)
	for _, flow := range []string{"build", "release"} {
		if link := `href="/acme/flows/` + flow + `/artifacts/` + fingerprint + `"`; answer.StatusCode != http.StatusOK || !strings.Contains(shown, link) {
			t.Errorf("answered %d without %s: %s", answer.StatusCode, link, shown)
		}
	}
}

func TestSearchShowsSeveral(t *testing.T) {
	answers := foundNothing()
	answers["/environments/acme"] = withHostile(`{"total_count": 30, "environments": [{"name": "%[1]s", "description": "%[2]s"}]}`)
	answers["/search/acme/sha/abcde"] = withHostile(`{"resolved_to": {"type": "mixed", "full_match": null}, "artifacts": [
		{"fingerprint": "abcde1", "name": "%[1]s", "has_provenance": true, "flow": "%[2]s", "trail": "%[3]s", "git_commit": "abcde2abcde2", "commit_url": "%[3]s", "compliance_state": "COMPLIANT", "running_in": ["%[1]s"]},
		{"fingerprint": "abcde3", "name": "%[2]s", "has_provenance": false, "git_commit": "0000000000", "html_url": "%[3]s", "running_in": []}]}`)
	_, shown := newGovernanceSite(t, answers).open(t, "/acme/search?q=abcde")
	checkHarmless(t, shown)
	for _, want := range []string{"There are more environments", "no provenance", "compliant"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in %s", want, shown)
		}
	}
}

func TestSearchSaysThatNothingWasFound(t *testing.T) {
	site := newGovernanceSite(t, foundNothing())
	for _, query := range []string{"abcdef", "%3Cscript%3Ealert(1)"} {
		answer, shown := site.open(t, "/acme/search?q="+query)
		if answer.StatusCode != http.StatusOK || !strings.Contains(shown, "Nothing was found for") || strings.Contains(shown, "<script>alert") {
			t.Errorf("answered %d: %s", answer.StatusCode, shown)
		}
	}
	asked := len(site.asked)
	if answer, _ := site.open(t, "/acme/search?q=+"); answer.StatusCode != http.StatusOK || len(site.asked) > asked {
		t.Errorf("answered %d", answer.StatusCode)
	}
}
