package e2e_test

import (
	"net/http"
	"testing"

	"attestry/evidence"
)

// TestMalformedQueriesAreRefused sends queries from which a lenient parser would drop a parameter or a part of it.
func TestMalformedQueriesAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.reportFile("build", "web")
	s.storePolicy("strict", "attestations: [{type: generic, name: tested}]")
	s.wantAssert("web", "", "flow true, build true")
	s.wantAssert("web", "?policy_name=strict", "policy false, build true, strict NON-COMPLIANT")

	for path, at := range map[string]string{
		s.assertPath("web", "?policy_name=strict%"):                "query.policy_name",
		s.assertPath("web", "?policy_name=strict;x"):               "query.policy_name",
		s.assertPath("web", "?policy_name=strict&policy_name=%zz"): "query.policy_name",
		s.assertPath("web", "?policy%5Fname=strict%4"):             "query.policy_name",
		s.assertPath("web", "/explanation?policy_name=strict%"):    "query.policy_name",
		"/flows/" + s.org + "?search_by_name=%":                    "query.search_by_name",
		"/trails/" + s.org + "/build?per_page=2;page=2":            "query.per_page",
		"/environments/" + s.org + "/prod/events?start_ts=1%":      "query.start_ts",
		"/environments/" + s.org + "/prod?unknown=%":               "query.unknown",
		"/trails/" + s.org + "/build?page=1e3":                     "query.page",
		"/attestations/" + s.org + "?per_page=1E1":                 "query.per_page",
	} {
		_, errors := s.want(http.StatusBadRequest, http.MethodGet, path, nil).problem(t)
		if len(errors) != 1 || errors[at] == "" {
			t.Errorf("%s: found %v, want %s", path, errors, at)
		}
		if got := s.do(http.MethodHead, "/api/v2"+path, adminKey, nil); got.status != http.StatusBadRequest {
			t.Errorf("HEAD of %s answers %d", path, got.status)
		}
	}
	// The body is not read if the query is malformed.
	_, errors := s.want(http.StatusBadRequest, http.MethodPut, "/environments/"+s.org+"/prod/report/server?x=%", []byte(`{"artifacts":[]}`)).problem(t)
	if len(errors) != 1 || errors["query.x"] == "" {
		t.Errorf("a report: found %v", errors)
	}
}

func TestPagesRefuseMalformedQueries(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	v := s.signedIn(readerKey)
	for path, at := range map[string]string{
		"/" + s.org + "/flows?name=100%":                        "query.name",
		"/" + s.org + "/environments/prod?state=failing;page=2": "query.state",
		"/signin?next=%":                  "query.next",
		"/" + s.org + "/no/such/page?a=%": "query.a",
	} {
		v.wantPage(http.StatusBadRequest, path, at)
	}
	for _, path := range []string{"/ready?a=%", "/api/v2/openapi.json?a=%", "/api/v2/docs?a=%"} {
		if got := s.do(http.MethodGet, path, "", nil); got.status != http.StatusBadRequest {
			t.Errorf("%s answers %d", path, got.status)
		}
	}
}
