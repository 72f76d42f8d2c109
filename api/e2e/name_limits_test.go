package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"attestry/api/apitest"
)

// namedOperation is an operation that stores a name.
type namedOperation struct {
	operation string // method and path in the OpenAPI document
	location  string // of the name in the findings
	most      int
	send      func(name string) apitest.Answer
}

func namedOperations(s *apitest.Service) []namedOperation {
	fingerprint := strings.Repeat("a", 64)
	put := func(path, body string, name string) apitest.Answer {
		return s.Do(http.MethodPut, "/api/v2"+path, apitest.MemberKey, fmt.Appendf(nil, body, name))
	}
	form := func(method, path, data string, files ...apitest.Part) func(string) apitest.Answer {
		return func(name string) apitest.Answer {
			return s.Form(method, strings.ReplaceAll(path, "%s", name), apitest.MemberKey, "data_json", strings.ReplaceAll(data, "%s", name), files...)
		}
	}
	artifact := func(flow, body string) func(string) apitest.Answer {
		return func(name string) apitest.Answer {
			return s.Do(http.MethodPost, "/api/v2/artifacts/"+s.Org+"/"+strings.ReplaceAll(flow, "%s", name), apitest.MemberKey,
				[]byte(`{"fingerprint":"`+fingerprint+`","build_url":"","commit_url":"",`+strings.ReplaceAll(body, "%s", name)+`}`))
		}
	}
	const attestations = "POST /attestations/{org}/{flow_name}/trail/{trail_name}/"
	attest := "/attestations/" + s.Org + "/"
	const generic = `{"attestation_name":"x","is_compliant":true}`
	return []namedOperation{
		{"PUT /flows/{org}/template_file", "name", 255, form("PUT", "/flows/"+s.Org+"/template_file", `{"name":"%s","description":""}`)},
		{"PUT /flows/{org}", "name", 255, func(name string) apitest.Answer { return put("/flows/"+s.Org, `{"name":"%s","description":""}`, name) }},
		{"PUT /flows/{org}/{flow_name}/rename", "new_name", 255, func(name string) apitest.Answer {
			return put("/flows/"+s.Org+"/build/rename", `{"new_name":"r%s"}`, name[1:])
		}},
		{"PUT /trails/{org}/{flow_name}", "name", 255, form("PUT", "/trails/"+s.Org+"/build", `{"name":"%s"}`)},
		{"PUT /environments/{org}", "name", 255, func(name string) apitest.Answer {
			return put("/environments/"+s.Org, `{"name":"%s","type":"K8S","description":""}`, name)
		}},
		{"PUT /environments/{org}/{env_name}/rename", "new_name", 255, func(name string) apitest.Answer {
			return put(s.EnvironmentsPath()+"/host/rename", `{"new_name":"r%s"}`, name[1:])
		}},
		{"POST /custom-attestation-types/{org}", "name", 255, form("POST", s.TypesPath(), `{"name":"%s"}`)},
		{"POST /artifacts/{org}/{flow_name}", "path.flow_name", 255, artifact("%s", `"filename":"f","trail_name":"t"`)},
		{"POST /artifacts/{org}/{flow_name}", "trail_name", 255, artifact("build", `"filename":"f","trail_name":"%s"`)},
		{"POST /artifacts/{org}/{flow_name}", "template_reference_name", 255, artifact("build", `"filename":"f","trail_name":"t","template_reference_name":"%s"`)},
		{"POST /artifacts/{org}/{flow_name}", "filename", 1024, artifact("build", `"filename":"%s","trail_name":"t"`)},
		{attestations + "generic", "path.flow_name", 255, form("POST", attest+"%s/trail/t/generic", generic)},
		{attestations + "generic", "path.trail_name", 255, form("POST", attest+"build/trail/%s/generic", generic)},
		{attestations + "generic", "attestation_name", 255, form("POST", attest+"build/trail/t/generic", `{"attestation_name":"%s","is_compliant":true}`)},
		{attestations + "generic", "target_artifacts[0]", 255, form("POST", attest+"build/trail/t/generic",
			`{"attestation_name":"x","is_compliant":true,"target_artifacts":["%s"]}`)},
		{attestations + "generic", "attachment_file.filename", 1024, func(name string) apitest.Answer {
			return form("POST", attest+"build/trail/t/generic", generic, apitest.Attachment(name, "content"))(name)
		}},
	}
}

func TestNamesHaveLimits(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateFlow("build")
	s.CreateEnvironment("host", "server")
	for _, c := range namedOperations(s) {
		t.Run(c.operation+" "+c.location, func(t *testing.T) {
			longest := strings.Repeat("n", c.most)
			got := c.send(longest + "n")
			want := fmt.Sprintf("String should have at most %d characters [input: ", c.most)
			if message, errors := got.Problem(t); got.Status != http.StatusBadRequest || message != "Input payload validation failed" ||
				len(errors) != 1 || !strings.HasPrefix(errors[c.location], want) || len(errors[c.location]) > 300 {
				t.Errorf("a name that is too long: %d %s", got.Status, got.Body)
			}
			if got := c.send(longest); got.Status != http.StatusCreated && got.Status != http.StatusOK {
				t.Errorf("the longest name: %d %s", got.Status, got.Body)
			}
		})
	}
	for name, path := range map[string]string{
		"flow": s.FlowsPath(), "trail": "/trails/" + s.Org + "/r" + strings.Repeat("n", 254), "environment": s.EnvironmentsPath(), "attestation type": s.TypesPath(),
	} {
		t.Run(name+" is not found", func(t *testing.T) {
			s.In(t).Want(http.StatusNotFound, http.MethodGet, path+"/"+strings.Repeat("n", 256), nil)
		})
	}
}

func TestTrailOfALongCommitIsRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	got := s.Want(http.StatusBadRequest, http.MethodPost, "/artifacts/"+s.Org+"/build", []byte(
		`{"fingerprint":"`+strings.Repeat("a", 64)+`","filename":"f","build_url":"","commit_url":"","git_commit_info":{"sha1":"`+strings.Repeat("a", 256)+`"}}`))
	if _, errors := got.Problem(t); !strings.HasPrefix(errors["trail_name"], "String should have at most 255 characters") {
		t.Errorf("got %s", got.Body)
	}
}
