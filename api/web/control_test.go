package web

import (
	"fmt"
	"strings"
	"testing"
)

func TestControlShowsVersionsCoverageAndDecisions(t *testing.T) {
	const get = "GET /controls/acme/SOX-1"
	api := newFakeAPI(t, cannedAnswers{
		get: withHostile(`{"identifier": "SOX-1", "name": "%[1]s", "version": 1, "created_at": 5, "created_by": "%[2]s", "description": "%[1]s",
			"links": {"%[1]s": "%[3]s", "wiki": "https://wiki.example.com/a"}, "tags": {"team": "%[2]s"}, "policies_referencing": ["%[1]s"]}`),
		get + "/versions":       withHostile(`{"total_pages": 1, "versions": [{"version": 1, "status": "Created", "name": "%[1]s", "timestamp": 5, "created_by": "%[2]s"}]}`),
		"GET /log/acme/entries": canned(`{"entries":[{"fact":"control/SOX-1:1","index":4}]}`),
		get + "/coverage": canned(`{"total_pages": 1, "total": 2, "covered": 1, "coverage_percent": 50, "environments": [
			{"name": "prod", "type": "K8S", "covered": true, "policies": ["p1"]}, {"name": "test", "type": "K8S", "covered": false, "policies": []}]}`),
		get + "/decisions": withHostile(`{"total_pages": 2, "total_count": 60, "decisions": [{"id": "d1", "is_compliant": true, "timestamp": 6, "attestation_name": "%[1]s",
			"flow_name": "checkout", "trail_name": "t1", "artifact_fingerprint": "aa", "artifact_name": "%[2]s", "origin_url": "%[3]s", "description": "%[1]s"}]}`),
	})
	api.open(t, "/acme/controls/SOX-1?decisions=2").has(t,
		escapedScript, "1 of 2 environments (50 %)", "60 recorded", `href="/acme/flows/checkout/trails/t1?attestation_id=d1"`, `href="?decisions=1"`,
		`href="https://wiki.example.com/a"`, "not covered", `<a href="/api/v2/log/acme/proof/control/SOX-1:1" download>logged as entry 4</a>`)
	if len(api.queries) != 5 {
		t.Errorf("asked %d times", len(api.queries))
	}
}

func TestControlsWithManyLinksAndTagsStaySmall(t *testing.T) {
	var links, tags []string
	for i := range 5000 {
		links = append(links, fmt.Sprintf(`"link-%04d":"https://example.com/%d"`, i, i))
		tags = append(tags, fmt.Sprintf(`"tag-%04d":"%s"`, i, strings.Repeat("<", 300)))
	}
	api := newFakeAPI(t, cannedAnswers{
		"GET /controls/acme/C-1":           canned(`{"identifier":"C-1","links":{` + strings.Join(links, ",") + `},"tags":{` + strings.Join(tags, ",") + `}}`),
		"GET /controls/acme/C-1/versions":  canned(`{"versions":[]}`),
		"GET /controls/acme/C-1/coverage":  canned(`{"environments":[]}`),
		"GET /controls/acme/C-1/decisions": canned(`{"decisions":[]}`),
	})
	shown := api.open(t, "/acme/controls/C-1")
	shown.has(t, `<a href="https://example.com/19" rel="noopener noreferrer">link-0019</a>`, "tag-0019", `More are in <a href="#json">`)
	shown.lacks(t, "link-0020", "tag-0020")
}
