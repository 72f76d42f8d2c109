package pipelines_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence/evidencetest"
)

func TestRecordsOfAnArchivedFlowAreReadByItsNewNameAndNotChanged(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	fingerprint, attestation := s.DeliverRelease("1.0")
	s.Want(http.StatusOK, http.MethodPut, s.FlowsPath()+"/build/archive", []byte("null"))
	shown := apitest.Lookup(t, s.Read("/attestations/"+s.Org+"?attestation_id="+attestation), "data", 0)
	name := apitest.Lookup(t, shown, "flow_name").(string)
	if !strings.HasPrefix(name, "build-archived-at-") {
		t.Fatalf("the flow is %s", name)
	}
	s.CreateFlow("build")
	s.CreateFlow("other")

	apitest.WantMember(t, s.FollowLink(shown, "_links", "self", "href"), "0.attestation_id", attestation)
	apitest.Each(s, map[string]string{
		s.FlowsPath() + "/" + name:                                                 `"name":"` + name + `"`,
		"/trails/" + s.Org + "/" + name:                                            fingerprint,
		"/trails/" + s.Org + "/" + name + "/1.0":                                   fingerprint,
		"/trails/" + s.Org + "?flow=" + name:                                       fingerprint,
		"/artifacts/" + s.Org + "/" + name + "/fingerprint/" + fingerprint:         name,
		"/attestations/" + s.Org + "?name=check&flow=" + name:                      attestation,
		"/asserts/" + s.Org + "/fingerprint/" + fingerprint + "?flow_name=" + name: fingerprint,
	}, func(s *apitest.Service, path, want string) {
		evidencetest.Contains(s.T, apitest.AsJSON(s.Read(path)), want)
	})
	for _, path := range []string{"/trails/" + s.Org + "/" + name + "/1.0/audit_package", "/artifacts/" + s.Org + "/" + name + "/" + fingerprint + "/audit_package"} {
		s.Want(http.StatusOK, http.MethodGet, path, nil)
	}

	archived := "Flow named '" + name + "' has been archived"
	missing := "Flow named '" + name + "' does not exist for organization '" + s.Org + "'"
	for _, c := range []struct {
		status             int
		message            string
		method, path, body string
	}{
		{http.StatusNotFound, missing, http.MethodPut, s.FlowsPath() + "/" + name + "/archive", "null"},
		{http.StatusNotFound, missing, http.MethodPut, s.FlowsPath() + "/" + name + "/rename", `{"new_name":"again"}`},
		{http.StatusNotFound, missing, http.MethodPatch, "/tags/" + s.Org + "/flow/" + name, `{"set_tags":{"a":"b"}}`},
		{http.StatusBadRequest, archived, http.MethodPut, s.FlowsPath() + "/other/rename", `{"new_name":"` + name + `"}`},
		{http.StatusBadRequest, archived, http.MethodPost, "/artifacts/" + s.Org + "/" + name, `{"fingerprint":"` + fingerprint + `","filename":"f","git_commit":"` + strings.Repeat("a", 40) + `","build_url":"https://ci.example.com","commit_url":"https://git.example.com"}`},
	} {
		s.WantError(c.status, c.message, c.method, c.path, c.body)
	}
	for _, c := range []struct {
		status        int
		message       string
		path, content string
	}{
		{http.StatusBadRequest, archived, s.FlowsPath() + "/template_file", `{"name":"` + name + `","description":"d"}`},
		{http.StatusNotFound, missing, "/trails/" + s.Org + "/" + name, `{"name":"2.0"}`},
	} {
		refused := s.Form(http.MethodPut, c.path, apitest.AdminKey, "data_json", c.content)
		if message, _ := refused.Problem(t); refused.Status != c.status || message != c.message {
			t.Errorf("PUT %s is answered %d %s", c.path, refused.Status, refused.Body)
		}
	}
	if flows := flowNames(s.ListFlows("")); !slices.Contains([]string{"build other", "other build"}, flows) {
		t.Errorf("listed %s", flows)
	}
}
