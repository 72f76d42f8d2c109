package e2e_test

import (
	"net/http"
	"testing"

	"attestry/api/apitest"
	"attestry/api/apitest/webclient"
	"attestry/evidence"
)

// TestMalformedQueriesAreRefused sends queries from which a lenient parser would drop a parameter or a part of it.
func TestMalformedQueriesAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.ReportFile("build", "web")
	s.StorePolicy("strict", "attestations: [{type: generic, name: tested}]")
	s.WantAssert("web", "", "flow true, build true")
	s.WantAssert("web", "?policy_name=strict", "policy false, build true, strict NON-COMPLIANT")

	for path, at := range map[string]string{
		s.AssertPath("web", "?policy_name=strict%"):                "query.policy_name",
		s.AssertPath("web", "?policy_name=strict;x"):               "query.policy_name",
		s.AssertPath("web", "?policy_name=strict&policy_name=%zz"): "query.policy_name",
		s.AssertPath("web", "?policy%5Fname=strict%4"):             "query.policy_name",
		s.AssertPath("web", "/explanation?policy_name=strict%"):    "query.policy_name",
		"/flows/" + s.Org + "?search_by_name=%":                    "query.search_by_name",
		"/trails/" + s.Org + "/build?per_page=2;page=2":            "query.per_page",
		"/environments/" + s.Org + "/prod/events?start_ts=1%":      "query.start_ts",
		"/environments/" + s.Org + "/prod?unknown=%":               "query.unknown",
		"/trails/" + s.Org + "/build?page=1e3":                     "query.page",
		"/attestations/" + s.Org + "?per_page=1E1":                 "query.per_page",
	} {
		_, errors := s.Want(http.StatusBadRequest, http.MethodGet, path, nil).Problem(t)
		if len(errors) != 1 || errors[at] == "" {
			t.Errorf("%s: found %v, want %s", path, errors, at)
		}
		apitest.Equal(t, s.Do(http.MethodHead, "/api/v2"+path, apitest.AdminKey, nil).Status, http.StatusBadRequest, path)
	}
	// The body is not read if the query is malformed.
	_, errors := s.Want(http.StatusBadRequest, http.MethodPut, "/environments/"+s.Org+"/prod/report/server?x=%", []byte(`{"artifacts":[]}`)).Problem(t)
	if len(errors) != 1 || errors["query.x"] == "" {
		t.Errorf("a report: found %v", errors)
	}
}

func TestPagesRefuseMalformedQueries(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	v := webclient.SignedIn(s, apitest.ReaderKey)
	for path, at := range map[string]string{
		"/" + s.Org + "/flows?name=100%":                        "query.name",
		"/" + s.Org + "/environments/prod?state=failing;page=2": "query.state",
		"/signin?next=%":                  "query.next",
		"/" + s.Org + "/no/such/page?a=%": "query.a",
	} {
		v.WantPage(http.StatusBadRequest, path, at)
	}
	for _, path := range []string{"/ready?a=%", "/api/v2/openapi.json?a=%", "/api/v2/docs?a=%"} {
		apitest.Equal(t, s.Do(http.MethodGet, path, "", nil).Status, http.StatusBadRequest, path)
	}
}
