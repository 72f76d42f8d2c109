package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func flowAnswer(name string) string {
	return `{"name":"` + name + `","description":"` + script + `","visibility":"private","repo_url":"` + link + `",
		"template":"version: 1\ntrail:\n  attestations:\n    - name: review\n      type: \"*\"\n  artifacts:\n    - name: api\n      attestations:\n        - name: lint # <script>alert(2)</script>\n          type: junit\n    - name: web\n",
		"tags":{"team":"` + attribute + `"},"latest_activity_at":1793610000.5,"latest_state":"INCOMPLETE"}`
}

const flowTrails = `{"data":[{"name":"t1","created_at":1793610900.5,"last_modified_at":1793611900.5,"created_by":"` + script + `","compliance_state":"NON-COMPLIANT",
	"git_commit_info":{"sha1":"4ab2c0e1f5d9a7b3c8e6f0d1a2b3c4d5e6f70819","message":"` + script + `","author":"` + attribute + `","branch":"main","url":"` + link + `"}}],
	"pagination":{"total":120,"page":2,"per_page":50,"page_count":3}}`

func TestFlowsAreListed(t *testing.T) {
	api := newFakeAPI(t, cannedAnswers{
		"GET /flows/acme?case_sensitive=false&page=2&per_page=50&search_by_name=check": canned(
			`{"data":[` + flowAnswer("checkout") + `],"pagination":{"total":120,"page":2,"per_page":50,"page_count":3}}`),
	})
	api.open(t, "/acme/flows?name=check&page=2").has(t, `href="/acme/flows/checkout"`, "incomplete", "&lt;script&gt;alert(1)", `value="check"`,
		`href="?name=check&amp;page=1"`, `href="?name=check&amp;page=3"`, "120 in all")
}

func TestOtherPagesHaveAllValuesOfTheFilter(t *testing.T) {
	api := newFakeAPI(t, cannedAnswers{"GET /flows/acme": canned(`{"data":[` + flowAnswer("checkout") + `],"pagination":{"total":120,"page":2,"per_page":50,"page_count":3}}`)})
	api.open(t, "/acme/flows?name=check&tag=a&tag=b&page=2").has(t, `href="?name=check&amp;page=1&amp;tag=a&amp;tag=b"`, `href="?name=check&amp;page=3&amp;tag=a&amp;tag=b"`)
}

func TestRefusalsOfSearchNamesAreShown(t *testing.T) {
	api := newFakeAPI(t, cannedAnswers{
		"GET /flows/acme?case_sensitive=false&page=1&per_page=50&search_by_name=%3Cscript%3Ealert": refused(http.StatusBadRequest, `{"message":"not a name","errors":{"query.search_by_name":"`+script+`"}}`),
	})
	api.open(t, "/acme/flows?name=%3Cscript%3Ealert").answers(t, http.StatusBadRequest, "not a name: &lt;script&gt;", `<input id="name"`)
}

func TestFlowIsShown(t *testing.T) {
	api := newFakeAPI(t, cannedAnswers{
		"GET /flows/acme/checkout":                     canned(flowAnswer("checkout")),
		"GET /trails/acme/checkout?page=2&per_page=50": canned(flowTrails),
	})
	api.open(t, "/acme/flows/checkout?page=2").has(t, `href="/acme/flows/checkout/trails/t1"`, "not compliant", "4ab2c0e1f5d9", "javascript:alert(1)",
		"&lt;script&gt;alert(2)&lt;/script&gt;", "artifact <bdi>web</bdi>", "none, but the artifact itself", "any", `href="?page=3"`, `href="/api/v2/flows/acme/checkout"`)
	if len(api.queries) != 2 {
		t.Errorf("asked %v", api.queries)
	}
}

func TestRenamedFlowsAreRedirectedTo(t *testing.T) {
	// The organization has the former name of the flow.
	api := newFakeAPI(t, cannedAnswers{
		"GET /flows/acme/acme":                                canned(flowAnswer("a~b c")),
		"GET /trails/acme/acme/t1":                            canned(`{"name":"t1","flow":{"name":"new"}}`),
		"GET /environments/acme/acme":                         canned(`{"name":"new"}`),
		"GET /artifacts/acme/acme/fingerprint/" + fingerprint: canned(`{"flow_name":"new"}`),
	})
	for path, want := range map[string]string{
		"/acme/flows/acme":                               "/acme/flows/a~b%20c",
		"/acme/flows/acme?page=2":                        "/acme/flows/a~b%20c?page=2",
		"/acme/flows/acme/trails/t1?attestation_id=acme": "/acme/flows/new/trails/t1?attestation_id=acme",
		"/acme/flows/acme/artifacts/" + fingerprint:      "/acme/flows/new/artifacts/" + fingerprint,
		"/acme/environments/acme":                        "/acme/environments/new",
	} {
		api.open(t, path).redirects(t, http.StatusFound, want)
	}
}

func TestLongTemplatesAreCut(t *testing.T) {
	long := `# ` + strings.Repeat(`<`, 200_000)
	api := newFakeAPI(t, cannedAnswers{
		"GET /flows/acme/checkout":                     canned(`{"name":"checkout","template":"version: 1\n` + long + `"}`),
		"GET /trails/acme/checkout?page=1&per_page=50": canned(`{"data":[],"pagination":{"total":0,"page":1,"per_page":50,"page_count":0}}`),
	})
	api.open(t, "/acme/flows/checkout").has(t, "This is the beginning of it.", "requires nothing")
}

func TestFlowsWithMuchTextStaySmall(t *testing.T) {
	flow := `{"name":"` + strings.Repeat("n", 255) + `","description":"` + strings.Repeat(`<`, 5000) + `","latest_state":"COMPLIANT","tags":{`
	for i := range 20 {
		flow += fmt.Sprintf(`"%02d%s":"%s",`, i, strings.Repeat("k", 200), strings.Repeat("'", 500))
	}
	flow += `"z":"z"}}`
	api := newFakeAPI(t, cannedAnswers{
		"GET /flows/acme?page=1&per_page=50": canned(
			`{"data":[` + flow + strings.Repeat(","+flow, 49) + `],"pagination":{"total":50,"page":1,"per_page":50,"page_count":1}}`),
	})
	api.open(t, "/acme/flows").has(t, "50 in all", "…")
}
