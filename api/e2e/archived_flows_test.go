package e2e_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestRecordsOfAnArchivedFlowAreReadByItsNewNameAndNotChanged(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	fingerprint, attestation := s.deliverRelease("1.0")
	s.want(http.StatusOK, http.MethodPut, s.flowsPath()+"/build/archive", []byte("null"))
	shown := lookup(t, s.read("/attestations/"+s.org+"?attestation_id="+attestation), "data", 0)
	name := lookup(t, shown, "flow_name").(string)
	if !strings.HasPrefix(name, "build-archived-at-") {
		t.Fatalf("the flow is %s", name)
	}
	s.createFlow("build")
	s.createFlow("other")

	if self := s.followLink(shown, "_links", "self", "href"); lookup(t, self, 0, "attestation_id") != attestation {
		t.Errorf("its own link shows %v", self)
	}
	for path, want := range map[string]string{
		s.flowsPath() + "/" + name:                                                 `"name":"` + name + `"`,
		"/trails/" + s.org + "/" + name:                                            fingerprint,
		"/trails/" + s.org + "/" + name + "/1.0":                                   fingerprint,
		"/trails/" + s.org + "?flow=" + name:                                       fingerprint,
		"/artifacts/" + s.org + "/" + name + "/fingerprint/" + fingerprint:         name,
		"/attestations/" + s.org + "?name=check&flow=" + name:                      attestation,
		"/asserts/" + s.org + "/fingerprint/" + fingerprint + "?flow_name=" + name: fingerprint,
	} {
		t.Run(s.caseName(path), func(t *testing.T) {
			s := s.in(t)
			if got := asJSON(s.read(path)); !strings.Contains(got, want) {
				t.Errorf("it lacks %s: %s", want, got)
			}
		})
	}
	for _, path := range []string{"/trails/" + s.org + "/" + name + "/1.0/audit_package", "/artifacts/" + s.org + "/" + name + "/" + fingerprint + "/audit_package"} {
		s.want(http.StatusOK, http.MethodGet, path, nil)
	}

	archived := "Flow named '" + name + "' has been archived"
	missing := "Flow named '" + name + "' does not exist for organization '" + s.org + "'"
	for _, c := range []struct {
		status             int
		message            string
		method, path, body string
	}{
		{http.StatusNotFound, missing, http.MethodPut, s.flowsPath() + "/" + name + "/archive", "null"},
		{http.StatusNotFound, missing, http.MethodPut, s.flowsPath() + "/" + name + "/rename", `{"new_name":"again"}`},
		{http.StatusNotFound, missing, http.MethodPatch, "/tags/" + s.org + "/flow/" + name, `{"set_tags":{"a":"b"}}`},
		{http.StatusBadRequest, archived, http.MethodPut, s.flowsPath() + "/other/rename", `{"new_name":"` + name + `"}`},
		{http.StatusBadRequest, archived, http.MethodPost, "/artifacts/" + s.org + "/" + name, `{"fingerprint":"` + fingerprint + `","filename":"f","git_commit":"` + strings.Repeat("a", 40) + `","build_url":"https://ci.example.com","commit_url":"https://git.example.com"}`},
	} {
		s.wantError(c.status, c.message, c.method, c.path, c.body)
	}
	for _, c := range []struct {
		status        int
		message       string
		path, content string
	}{
		{http.StatusBadRequest, archived, s.flowsPath() + "/template_file", `{"name":"` + name + `","description":"d"}`},
		{http.StatusNotFound, missing, "/trails/" + s.org + "/" + name, `{"name":"2.0"}`},
	} {
		refused := s.form(http.MethodPut, c.path, adminKey, "data_json", c.content)
		if message, _ := refused.problem(t); refused.status != c.status || message != c.message {
			t.Errorf("PUT %s is answered %d %s", c.path, refused.status, refused.body)
		}
	}
	if flows := flowNames(s.listFlows("")); !slices.Contains([]string{"build other", "other build"}, flows) {
		t.Errorf("listed %s", flows)
	}
}
