package governance_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
)

// TestNonComplianceIsExplainedByFindingsOfAttestations reads the findings of attestations in asserts, snapshots, audit
// packages and lists.
func TestNonComplianceIsExplainedByFindingsOfAttestations(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.CreateAttestationType(`{"name":"coverage","evaluator":{"content_type":"jq","rules":[".line >= 80"]}}`)
	s.ReportFile("build", "web")
	s.PostAttestation(http.StatusCreated, "trail-of-web", "junit",
		`{"attestation_name":"unit-test","junit_results":[{"name":"TestRounding","total":128,"failures":2,"errors":0,"skipped":0,"duration":1}]}`)
	s.PostAttestation(http.StatusCreated, "trail-of-web", "custom", `{"attestation_name":"coverage","type_name":"coverage","attestation_data":{"line":55}}`)
	s.AttestGeneric("trail-of-web", "review", false, "")
	s.Want(http.StatusOK, http.MethodPost, s.TrailPath("trail-of-web")+"/override", []byte(`{"attestation_name":"review","original_attestation_type":"generic","new_compliance_status":true,"reason":"agreed by phone"}`))
	s.StorePolicy("production", "trail-compliance: {required: true}", "attestations: [{type: junit, name: unit-test}, {type: 'custom:coverage', name: coverage}, {type: generic, name: review}]")
	s.Attach("prod", "production")
	s.ReportServer("prod", "web")

	const tests, coverage = "2 of 128 tests failed: TestRounding", "line is 55, the rule asks for .line >= 80"
	failing := []string{
		"In trail 'trail-of-web' of flow 'build' the artifact is NON-COMPLIANT (non-compliant: 'unit-test', 'coverage'): 'unit-test': " + tests + "; 'coverage': " + coverage + ".",
		"In trail 'trail-of-web' of flow 'build' the attestation 'unit-test' of type junit is non-compliant: " + tests + ".",
		"In trail 'trail-of-web' of flow 'build' the attestation 'coverage' of type custom:coverage is non-compliant: " + coverage + ".",
	}
	satisfied := "In trail 'trail-of-web' of flow 'build' there is the compliant attestation 'review' of type generic: overridden by administrator: agreed by phone."
	artifact := apitest.Lookup(t, s.Read("/snapshots/"+s.Org+"/prod/-1?explain=true"), "artifacts", 0)
	packed := s.Want(http.StatusOK, http.MethodGet, "/trails/"+s.Org+"/build/trail-of-web/audit_package", nil).Body
	if found := apitest.VerifyCompressed(t, packed).Findings; len(found) > 0 {
		t.Errorf("the package has the problems %v", found)
	}
	var environments any
	s.Must(json.Unmarshal(apitest.ContentIn(t, packed, "environments.json"), &environments))
	for name, row := range map[string]struct {
		actual any
		want   []string
	}{
		"an assert":   {s.Read(s.AssertPath("web", "/explanation?environment_name=prod")), append(failing, satisfied)},
		"a snapshot":  {artifact, failing},
		"the package": {environments, append(failing, satisfied)},
		"a list":      {s.ListAttestations("/attestations/" + s.Org + "/build/trail/trail-of-web/unit-test"), []string{tests}},
	} {
		t.Run(name, func(t *testing.T) {
			actual := apitest.TextsIn(row.actual)
			for _, text := range row.want {
				if !slices.Contains(actual, text) {
					t.Errorf("it does not say %s, but\n%s", text, strings.Join(actual, "\n"))
				}
			}
		})
	}
	// Another finding with the same verdict makes no new snapshot.
	s.PostAttestation(http.StatusCreated, "trail-of-web", "custom", `{"attestation_name":"coverage","type_name":"coverage","attestation_data":{"line":54}}`)
	s.Report(http.StatusOK, "prod", "server", string(apitest.ServerReport("web")))
}

// TestLinksOfAnOldExplanationLeadToTheRenamedFlow reads a snapshot after its flow was renamed and its name taken by another.
func TestLinksOfAnOldExplanationLeadToTheRenamedFlow(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.ReportFile("build", "web")
	s.AttestGeneric("trail-of-web", "review", false, "")
	s.StorePolicy("production", "attestations: [{type: generic, name: review}]")
	s.Attach("prod", "production")
	s.ReportServer("prod", "web")
	s.Want(http.StatusOK, http.MethodPut, "/flows/"+s.Org+"/build/rename", []byte(`{"new_name":"compile"}`))
	s.CreateFlow("build")
	links := apitest.Lookup(t, s.Read("/snapshots/"+s.Org+"/prod/1?explain=true"), "artifacts", 0, "explanation", 0, "links")
	for _, name := range []string{"trail", "attestation"} {
		evidencetest.Contains(t, apitest.Lookup(t, links, name).(string), "/flows/compile/trails/trail-of-web")
	}
}
