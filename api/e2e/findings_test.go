package e2e_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
)

// TestNonComplianceIsExplainedByFindingsOfAttestations reads the findings of attestations in asserts, snapshots, audit
// packages and lists.
func TestNonComplianceIsExplainedByFindingsOfAttestations(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.createAttestationType(`{"name":"coverage","evaluator":{"content_type":"jq","rules":[".line >= 80"]}}`)
	s.reportFile("build", "web")
	s.postAttestation(http.StatusCreated, "trail-of-web", "junit",
		`{"attestation_name":"unit-test","junit_results":[{"name":"TestRounding","total":128,"failures":2,"errors":0,"skipped":0,"duration":1}]}`)
	s.postAttestation(http.StatusCreated, "trail-of-web", "custom", `{"attestation_name":"coverage","type_name":"coverage","attestation_data":{"line":55}}`)
	s.attestGeneric("trail-of-web", "review", false, "")
	s.want(http.StatusOK, http.MethodPost, s.trailPath("trail-of-web")+"/override", []byte(`{"attestation_name":"review","original_attestation_type":"generic","new_compliance_status":true,"reason":"agreed by phone"}`))
	s.storePolicy("production", "trail-compliance: {required: true}", "attestations: [{type: junit, name: unit-test}, {type: 'custom:coverage', name: coverage}, {type: generic, name: review}]")
	s.attach("prod", "production")
	s.reportServer("prod", "web")

	const tests, coverage = "2 of 128 tests failed: TestRounding", "line is 55, the rule asks for .line >= 80"
	failing := []string{
		"In trail 'trail-of-web' of flow 'build' the artifact is NON-COMPLIANT (non-compliant: 'unit-test', 'coverage'): 'unit-test': " + tests + "; 'coverage': " + coverage + ".",
		"In trail 'trail-of-web' of flow 'build' the attestation 'unit-test' of type junit is non-compliant: " + tests + ".",
		"In trail 'trail-of-web' of flow 'build' the attestation 'coverage' of type custom:coverage is non-compliant: " + coverage + ".",
	}
	satisfied := "In trail 'trail-of-web' of flow 'build' there is the compliant attestation 'review' of type generic: overridden by administrator: agreed by phone."
	artifact := lookup(t, s.read("/snapshots/"+s.org+"/prod/-1?explain=true"), "artifacts", 0)
	packed := s.want(http.StatusOK, http.MethodGet, "/trails/"+s.org+"/build/trail-of-web/audit_package", nil).body
	if found := verifyCompressed(t, packed).Findings; len(found) > 0 {
		t.Errorf("the package has the problems %v", found)
	}
	var environments any
	s.must(json.Unmarshal(contentIn(t, packed, "environments.json"), &environments))
	for name, row := range map[string]struct {
		actual any
		want   []string
	}{
		"an assert":   {s.read(s.assertPath("web", "/explanation?environment_name=prod")), append(failing, satisfied)},
		"a snapshot":  {artifact, failing},
		"the package": {environments, append(failing, satisfied)},
		"a list":      {s.listAttestations("/attestations/" + s.org + "/build/trail/trail-of-web/unit-test"), []string{tests}},
	} {
		t.Run(name, func(t *testing.T) {
			actual := textsIn(row.actual)
			for _, text := range row.want {
				if !slices.Contains(actual, text) {
					t.Errorf("it does not say %s, but\n%s", text, strings.Join(actual, "\n"))
				}
			}
		})
	}
	// Another finding with the same verdict makes no new snapshot.
	s.postAttestation(http.StatusCreated, "trail-of-web", "custom", `{"attestation_name":"coverage","type_name":"coverage","attestation_data":{"line":54}}`)
	s.report(http.StatusOK, "prod", "server", string(serverReport("web")))
}

// TestLinksOfAnOldExplanationLeadToTheRenamedFlow reads a snapshot after its flow was renamed and its name taken by another.
func TestLinksOfAnOldExplanationLeadToTheRenamedFlow(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.reportFile("build", "web")
	s.attestGeneric("trail-of-web", "review", false, "")
	s.storePolicy("production", "attestations: [{type: generic, name: review}]")
	s.attach("prod", "production")
	s.reportServer("prod", "web")
	s.want(http.StatusOK, http.MethodPut, "/flows/"+s.org+"/build/rename", []byte(`{"new_name":"compile"}`))
	s.createFlow("build")
	links := lookup(t, s.read("/snapshots/"+s.org+"/prod/1?explain=true"), "artifacts", 0, "explanation", 0, "links")
	for _, name := range []string{"trail", "attestation"} {
		if got := lookup(t, links, name).(string); !strings.Contains(got, "/flows/compile/trails/trail-of-web") {
			t.Errorf("the %s is linked as %s", name, got)
		}
	}
}

// textsIn returns all strings in a JSON value.
func textsIn(value any) (texts []string) {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		for _, one := range value {
			texts = append(texts, textsIn(one)...)
		}
	case map[string]any:
		for _, one := range value {
			texts = append(texts, textsIn(one)...)
		}
	}
	return texts
}
