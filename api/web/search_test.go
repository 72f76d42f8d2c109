package web

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

const (
	noEnvironments = `{"total_count": 0, "environments": []}`
	noFlows        = `{"data": [], "pagination": {"total": 0}}`
)

// foundNothing are the answers to a search without results.
func foundNothing() cannedAnswers {
	return cannedAnswers{
		"GET /environments/acme": canned(noEnvironments), "GET /flows/acme": canned(noFlows),
		"GET /policies/acme": canned(`[]`), "GET /trails/acme": canned(`{"data": []}`), "GET /artifacts/acme": canned(`[]`), "GET /attestations/acme": canned(`{"data": []}`),
		"GET /controls/acme": canned(`{"total_count": 0, "controls": []}`),
	}
}

func TestSearchRedirectsToTheOnlyArtifact(t *testing.T) {
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

func TestSearchShowsSeveralResults(t *testing.T) {
	answers := foundNothing()
	answers["GET /environments/acme"] = withHostile(`{"total_count": 30, "environments": [{"name": "%[1]s", "description": "%[2]s abCDE"}]}`)
	answers["GET /search/acme/sha/abcde"] = withHostile(`{"resolved_to": {"type": "mixed", "full_match": null}, "artifacts": [
		{"fingerprint": "abcde1", "name": "%[1]s", "has_provenance": true, "flow": "%[2]s", "trail": "%[3]s", "git_commit": "abcde2abcde2", "commit_url": "%[3]s", "compliance_state": "COMPLIANT", "running_in": ["%[1]s"]},
		{"fingerprint": "abcde3", "name": "%[2]s", "has_provenance": false, "git_commit": "0000000000", "html_url": "%[3]s", "running_in": []}]}`)
	newFakeAPI(t, answers).open(t, "/acme/search?q=abcde").has(t, escapedScript, "description: ", "<mark>abCDE</mark>", "fingerprint <code><mark>abcde</mark>", "no provenance", "compliant")
}

// foundAll are the answers to a search for ada.
func foundAll() cannedAnswers {
	answers := foundNothing()
	commit := `"git_commit_info": {"sha1": "62bd", "author": "Ada <ada@example.com>", "message": "Fix", "branch": "main"}`
	answers["GET /environments/acme"] = canned(`{"environments": [{"name": "Ada-prod", "state": false, "last_changed_at": 1774900000}, {"name": "ada-new", "state": null}]}`)
	answers["GET /flows/acme"] = canned(`{"data": [{"name": "ada-build", "latest_state": "COMPLIANT", "latest_activity_at": 1774000000}]}`)
	answers["GET /controls/acme"] = canned(`{"controls": [{"identifier": "C-1", "name": "Adapted releases", "created_at": 1774900000}]}`)
	answers["GET /policies/acme"] = canned(`[{"name": "other"}, {"name": "prod", "description": "` + strings.Repeat("long ", 40) + `by Ada ` + script + `", "versions": [{"policy_yaml": "x"}]}]`)
	answers["GET /trails/acme"] = canned(`{"data": [{"name": "t1", ` + commit + `, "compliance_state": "NON-COMPLIANT", "last_modified_at": 1774900000, "flow": {"name": "build"}, "html_url": "http://localhost/acme/flows/build/trails/t1"},
		{"name": "t2", "compliance_state": "COMPLIANT", "flow": {"name": "build"}}]}`)
	answers["GET /artifacts/acme"] = canned(`[{"filename": "shop/canada:1.2", "fingerprint": "aa", "state": "COMPLIANT", "created_at": 1774900000, "trail_name": "t1", "html_url": "javascript:alert(1)"}]`)
	answers["GET /attestations/acme"] = canned(`{"data": [{"attestation_name": "ada-scan", "is_compliant": true, "created_at": 1774900000, "flow_name": "build", "trail_name": "t1",
		"html_url": "http://localhost/acme/flows/build/trails/t1?attestation_id=5"}]}`)
	return answers
}

func TestSearchMarksWhatMatches(t *testing.T) {
	api := newFakeAPI(t, foundAll())
	api.open(t, "/acme/search?q=ada").has(t, `<a href="/acme/environments/Ada-prod">`, `name: <bdi><mark>Ada</mark>-prod</bdi>`, `<a href="/acme/flows/ada-build">`,
		`name: <bdi><mark>Ada</mark>pted releases`, `<a href="/acme/controls/C-1">`, `<a href="/acme/policies/prod">`, `description: <bdi>…`, `by <mark>Ada</mark> &lt;script`,
		`<a href="/acme/flows/build/trails/t1">`, `author: <bdi><mark>Ada</mark> &lt;ada@example.com&gt;`, `name: <bdi>shop/can<mark>ada</mark>:1.2`,
		`<a href="/acme/flows/build/trails/t1?attestation_id=5">`, "· in <bdi>build</bdi> / <bdi>t1</bdi>")
	if want := "/attestations/acme?name_regex=%28%3Fi%29ada&page=1&per_page=100"; len(api.queries) != 12 || api.queries[11].Target != want {
		t.Errorf("asked %v", api.queries)
	}
}

func TestSearchShowsAResultOnceThoughItMatchesTwice(t *testing.T) {
	answers := foundNothing()
	answers["GET /flows/acme"] = canned(`{"data": [{"name": "web", "tags": {"team": "payments", "web": "x"}}, {"name": "other", "tags": {"team": "` + script + `"}}]}`)
	page := newFakeAPI(t, answers).open(t, "/acme/search?q=web")
	page.has(t, `name: <bdi><mark>web</mark></bdi>`)
	if strings.Count(page.text, `href="/acme/flows/web"`) != 1 {
		t.Errorf("the page has the flow several times: %s", page.text)
	}
	newFakeAPI(t, answers).open(t, "/acme/search?q=team").has(t, `tag: <bdi><mark>team</mark>:payments</bdi>`, `<mark>team</mark>:&lt;script`)
}

func TestSearchIsFiltered(t *testing.T) {
	for filter, want := range map[string]string{
		"kind=trail":                 "t1",
		"state=compliant":            "ada-build shop/canada:1.2 ada-scan",
		"state=not+compliant":        "Ada-prod t1",
		"since=2026-03-30":           "Ada-prod C-1 t1 shop/canada:1.2 ada-scan",
		"since=2026-03-31":           "",
		"until=2026-03-29":           "ada-build",
		"kind=flow&since=2026-03-20": "ada-build",
		"kind=attestation&until=2026-03-30&state=compliant": "ada-scan",
	} {
		api := newFakeAPI(t, foundAll())
		page := api.open(t, "/acme/search?q=ada&"+filter)
		page.has(t)
		var names []string
		for _, found := range regexp.MustCompile(`<li><a href="[^"]*"><bdi>([^<]*)<`).FindAllStringSubmatch(page.text, -1) {
			names = append(names, found[1])
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s finds %q, want %q", filter, got, want)
		}
		if filter == "kind=trail" && len(api.queries) != 2 {
			t.Errorf("a search for trails asks %v", api.queries)
		}
	}
}

func TestFilteredSearchReadsFurtherPages(t *testing.T) {
	answers := foundNothing()
	trails := func(count int) string {
		return `{"data": [` + strings.Repeat(`{"name": "ada", "compliance_state": "COMPLIANT"},`, count-1) + `{"name": "ada", "compliance_state": "COMPLIANT"}]}`
	}
	for page := 1; page <= 10; page++ {
		answers[fmt.Sprintf("GET /trails/acme?page=%d&per_page=100&search=ada", page)] = canned(trails(100))
	}
	const path = "/acme/search?q=ada&kind=trail&state=not+compliant"
	api := newFakeAPI(t, answers)
	api.open(t, path).has(t, "There may be more.")
	if len(api.queries) != 11 {
		t.Errorf("asked %d times", len(api.queries))
	}
	answers["GET /trails/acme?page=2&per_page=100&search=ada"] = canned(trails(30))
	newFakeAPI(t, answers).open(t, path).has(t, "Nothing was found for")
	answers["GET /trails/acme?page=2&per_page=100&search=ada"] = canned(`{"data": [{"name": "ada-old", "compliance_state": "NON-COMPLIANT"}]}`)
	newFakeAPI(t, answers).open(t, path).has(t, "</mark>-old")
}

func TestSearchForControlsNeedsBetaFeatures(t *testing.T) {
	api := newFakeAPI(t, foundNothing())
	api.open(t, "/other/search?q=ada&kind=control").has(t, "Nothing was found")
	if len(api.queries) > 0 {
		t.Errorf("asked %v", api.queries)
	}
}

func TestSearchShowsTheFirstThingsOfAKind(t *testing.T) {
	answers := foundNothing()
	answers["GET /policies/acme"] = canned("[" + strings.Repeat(`{"name": "ada"},`, 30) + `{"name": "ada"}]`)
	page := newFakeAPI(t, answers).open(t, "/acme/search?q=ada")
	page.has(t, "There may be more.")
	if got := strings.Count(page.text, "<mark>ada</mark>"); got != 20 {
		t.Errorf("shows %d", got)
	}
}

func TestSearchSaysThatNothingWasFound(t *testing.T) {
	api := newFakeAPI(t, foundNothing())
	for _, query := range []string{"abcdef", "%3Cscript%3Ealert(1)"} {
		api.open(t, "/acme/search?q="+query).has(t, "Nothing was found for")
	}
	before := len(api.queries)
	api.open(t, "/acme/search?q=+").has(t)
	api.open(t, "/acme/search?q=ada&since=yesterday").has(t, "A day is written as in")
	api.open(t, "/acme/search?q=ada&until=2026-02-30").has(t, "A day is written as in")
	if len(api.queries) > before {
		t.Errorf("a search for nothing asks %v", api.queries[before:])
	}
}
