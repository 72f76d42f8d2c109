package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// namedOperation is an operation that stores a name.
type namedOperation struct {
	operation string // method and path in the OpenAPI document
	location  string // of the name in the findings
	most      int
	send      func(name string) answer
}

func namedOperations(s *service) []namedOperation {
	fingerprint := strings.Repeat("a", 64)
	put := func(path, body string, name string) answer {
		return s.do(http.MethodPut, "/api/v2"+path, memberKey, fmt.Appendf(nil, body, name))
	}
	form := func(method, path, data string, files ...part) func(string) answer {
		return func(name string) answer {
			return s.form(method, strings.ReplaceAll(path, "%s", name), memberKey, "data_json", strings.ReplaceAll(data, "%s", name), files...)
		}
	}
	artifact := func(flow, body string) func(string) answer {
		return func(name string) answer {
			return s.do(http.MethodPost, "/api/v2/artifacts/"+s.org+"/"+strings.ReplaceAll(flow, "%s", name), memberKey,
				[]byte(`{"fingerprint":"`+fingerprint+`","build_url":"","commit_url":"",`+strings.ReplaceAll(body, "%s", name)+`}`))
		}
	}
	const attestations = "POST /attestations/{org}/{flow_name}/trail/{trail_name}/"
	attest := "/attestations/" + s.org + "/"
	const generic = `{"attestation_name":"x","is_compliant":true}`
	return []namedOperation{
		{"PUT /flows/{org}/template_file", "name", 255, form("PUT", "/flows/"+s.org+"/template_file", `{"name":"%s","description":""}`)},
		{"PUT /flows/{org}", "name", 255, func(name string) answer { return put("/flows/"+s.org, `{"name":"%s","description":""}`, name) }},
		{"PUT /flows/{org}/{flow_name}/rename", "new_name", 255, func(name string) answer {
			return put("/flows/"+s.org+"/build/rename", `{"new_name":"r%s"}`, name[1:])
		}},
		{"PUT /trails/{org}/{flow_name}", "name", 255, form("PUT", "/trails/"+s.org+"/build", `{"name":"%s"}`)},
		{"PUT /environments/{org}", "name", 255, func(name string) answer {
			return put("/environments/"+s.org, `{"name":"%s","type":"K8S","description":""}`, name)
		}},
		{"PUT /environments/{org}/{env_name}/rename", "new_name", 255, func(name string) answer {
			return put(s.environmentsPath()+"/host/rename", `{"new_name":"r%s"}`, name[1:])
		}},
		{"POST /custom-attestation-types/{org}", "name", 255, form("POST", s.typesPath(), `{"name":"%s"}`)},
		{"POST /artifacts/{org}/{flow_name}", "path.flow_name", 255, artifact("%s", `"filename":"f","trail_name":"t"`)},
		{"POST /artifacts/{org}/{flow_name}", "trail_name", 255, artifact("build", `"filename":"f","trail_name":"%s"`)},
		{"POST /artifacts/{org}/{flow_name}", "template_reference_name", 255, artifact("build", `"filename":"f","trail_name":"t","template_reference_name":"%s"`)},
		{"POST /artifacts/{org}/{flow_name}", "filename", 1024, artifact("build", `"filename":"%s","trail_name":"t"`)},
		{attestations + "generic", "path.flow_name", 255, form("POST", attest+"%s/trail/t/generic", generic)},
		{attestations + "generic", "path.trail_name", 255, form("POST", attest+"build/trail/%s/generic", generic)},
		{attestations + "generic", "attestation_name", 255, form("POST", attest+"build/trail/t/generic", `{"attestation_name":"%s","is_compliant":true}`)},
		{attestations + "generic", "target_artifacts[0]", 255, form("POST", attest+"build/trail/t/generic",
			`{"attestation_name":"x","is_compliant":true,"target_artifacts":["%s"]}`)},
		{attestations + "generic", "attachment_file.filename", 1024, func(name string) answer {
			return form("POST", attest+"build/trail/t/generic", generic, attachment(name, "content"))(name)
		}},
	}
}

func TestNamesHaveLimits(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createFlow("build")
	s.createEnvironment("host", "server")
	for _, c := range namedOperations(s) {
		t.Run(c.operation+" "+c.location, func(t *testing.T) {
			longest := strings.Repeat("n", c.most)
			got := c.send(longest + "n")
			want := fmt.Sprintf("String should have at most %d characters [input: ", c.most)
			if message, errors := got.problem(t); got.status != http.StatusBadRequest || message != "Input payload validation failed" ||
				len(errors) != 1 || !strings.HasPrefix(errors[c.location], want) || len(errors[c.location]) > 300 {
				t.Errorf("a name that is too long: %d %s", got.status, got.body)
			}
			if got := c.send(longest); got.status != http.StatusCreated && got.status != http.StatusOK {
				t.Errorf("the longest name: %d %s", got.status, got.body)
			}
		})
	}
	for name, path := range map[string]string{
		"flow": s.flowsPath(), "trail": "/trails/" + s.org + "/r" + strings.Repeat("n", 254), "environment": s.environmentsPath(), "attestation type": s.typesPath(),
	} {
		t.Run(name+" is not found", func(t *testing.T) {
			s.in(t).want(http.StatusNotFound, http.MethodGet, path+"/"+strings.Repeat("n", 256), nil)
		})
	}
}

func TestTrailOfALongCommitIsRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	got := s.want(http.StatusBadRequest, http.MethodPost, "/artifacts/"+s.org+"/build", []byte(
		`{"fingerprint":"`+strings.Repeat("a", 64)+`","filename":"f","build_url":"","commit_url":"","git_commit_info":{"sha1":"`+strings.Repeat("a", 256)+`"}}`))
	if _, errors := got.problem(t); !strings.HasPrefix(errors["trail_name"], "String should have at most 255 characters") {
		t.Errorf("got %s", got.body)
	}
}
