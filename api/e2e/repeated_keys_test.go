package e2e_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence"
)

// wantRepeated checks that an answer says which key a body has twice.
func wantRepeated(t *testing.T, got apitest.Answer, at, key string) {
	t.Helper()
	_, errors := got.Problem(t)
	want := map[string]string{at: "Invalid JSON: the key is given twice [input: " + key + "]"}
	if got.Status != http.StatusBadRequest || !maps.Equal(errors, want) {
		t.Errorf("answered %d %s, want %v", got.Status, got.Body, want)
	}
}

// TestKeysThatAreGivenTwiceAreRefused sends JSON with repeated keys, of which decoders would use one value.
func TestKeysThatAreGivenTwiceAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	wantRepeated(t, s.Want(http.StatusBadRequest, http.MethodPut, s.FlowsPath(), []byte(`{"name":"f","description":"a","descri\u0070tion":"b"}`)), "description", "description")

	for kind, sent := range map[string][3]string{
		"generic":       {`"is_compliant":false,"is_compliant":true`, "is_compliant", "is_compliant"},
		"pull_request":  {`"git_provider":"github","pull_requests":[{"url":"u","url":"v"}]`, "pull_requests[0].url", "url"},
		"junit":         {`"junit_results":[{"name":"s","failures":1,"failures":0}]`, "junit_results[0].failures", "failures"},
		"sonar":         {`"sonar_results":{"qualityGate":{"status":"ERROR","status":"OK"}}`, "sonar_results.qualityGate.status", "status"},
		"generic ":      {`"is_compliant":true,"user_data":{"a":[{"b":1,"b":2}]}`, "user_data.a[0].b", "b"},
		"system":        {`"type_name":"decision","attestation_data":{"is_compliant":false,"is_compliant":true}`, "attestation_data.is_compliant", "is_compliant"},
		"system ":       {`"type_name":"decision","attestation_data":"{\"is_compliant\":false,\"is_compliant\":true}"`, "attestation_data.is_compliant", "is_compliant"},
		"snyk":          {`"snyk_results":{"tool":{"name":"a","name":"b"}}`, "snyk_results.tool.name", "name"},
		"jira":          {`"jira_results":[],"jira_results":[]`, "jira_results", "jira_results"},
		"pull_request ": {`"git_provider":"github","git_provider":"gitlab","pull_requests":[]`, "git_provider", "git_provider"},
	} {
		data := `{"attestation_name":"n",` + sent[0] + `}`
		wantRepeated(t, s.PostAttestation(http.StatusBadRequest, "t", strings.TrimSpace(kind), data), sent[1], sent[2])
	}
	s.CreateAttestationType(`{"name":"strict","evaluator":{"content_type":"jq","rules":[".ok"]}}`)
	wantRepeated(t, s.AttestCustom(http.StatusBadRequest, "strict", `"{\"ok\":false,\"\\u006fk\":true}"`), "attestation_data.ok", "ok")
	wantRepeated(t, s.WantForm(http.StatusBadRequest, http.MethodPost, s.TypesPath(), `{"name":"schema"}`, apitest.SchemaFile(`{"type":"object","type":"array"}`)),
		"type_schema.type", "type")

	s.CreateEnvironment("prod", evidence.Server)
	digest := `"a":"` + evidence.HashAPIKey("a") + `"`
	wantRepeated(t, s.Report(http.StatusBadRequest, "prod", "server", `{"artifacts":[{"digests":{`+digest+`,`+digest+`},"creationTimestamp":1}]}`),
		"artifacts[0].digests.a", "a")
	wantRepeated(t, s.Report(http.StatusBadRequest, "prod", "server", `{"artifacts":[],"artifacts":[{"digests":{`+digest+`},"creationTimestamp":1}]}`),
		"artifacts", "artifacts")
	wantRepeated(t, s.Form(http.MethodPost, "/policies/"+s.Org+"/evaluate", apitest.AdminKey, "payload", `{"environment":"a","environment":"prod"}`), "environment", "environment")
	body := []byte(apitest.SonarAnalysis(apitest.QualityGate("ERROR") + apitest.QualityGate("OK")))
	wantRepeated(t, s.Deliver("sonar", s.HookUID("sonar").Reveal(), apitest.SignHook(body), body), "qualityGate", "qualityGate")
}

// TestKeysOfAnotherCaseDoNotCount sends keys that encoding/json would match because it ignores case.
func TestKeysOfAnotherCaseDoNotCount(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	_, errors := s.PostAttestation(http.StatusBadRequest, "t", "generic", `{"attestation_name":"n","is_compliant":false,"IS_COMPLIANT":true}`).Problem(t)
	apitest.Equal(t, errors["IS_COMPLIANT"], "Extra inputs are not permitted [input: True]", errors)
	s.PostAttestation(http.StatusCreated, "t", "sonar", `{"attestation_name":"gate","sonar_results":{"analysedAt":"1","revision":"x","project":{"key":"k","url":"https://s.example.com"},
		"qualityGate":{"name":"way","status":"ERROR","Status":"OK","conditions":[]}}}`)
	s.PostAttestation(http.StatusCreated, "t", "system", `{"attestation_name":"decided","type_name":"decision","attestation_data":{"is_compliant":false,"IS_COMPLIANT":true}}`)
	for _, name := range []string{"gate", "decided"} {
		if list := s.ListAttestations("/attestations/" + s.Org + "/build/trail/t/" + name); apitest.Column(t, list, "is_compliant") != "false" {
			t.Errorf("%s is recorded as %s", name, apitest.AsJSON(list))
		}
	}
}
