package governance_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"attestry/api/apitest"
)

// decide records a decision in a trail of a flow. more is empty or further members, each after a comma.
func decide(s *apitest.Service, flow, trail, name, control string, compliant bool, more string, files ...apitest.Part) {
	s.T.Helper()
	s.WantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.Org+"/"+flow+"/trail/"+trail+"/system", fmt.Sprintf(
		`{"attestation_name":%q,"type_name":"decision","control":%q,"attestation_data":{"is_compliant":%t}%s}`, name, control, compliant, more), files...)
}

// listDecisions returns a page of the decisions on a control.
func listDecisions(s *apitest.Service, control, query string) []any {
	s.T.Helper()
	list := s.Read(s.ControlsPath() + "/" + control + "/decisions" + query)
	apitest.ClientReads(s.T, "control_decisions", list)
	decisions := apitest.Lookup(s.T, list, "decisions").([]any)
	for _, decision := range decisions {
		apitest.ClientReads(s.T, "control_decision", decision)
	}
	return decisions
}

func TestDecisionsRecordTheVersionOfTheControl(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	decide(s, "build", "t", "before", "C-1", true, "")
	s.CreateControl("C-1")
	decide(s, "build", "t", "first", "C-1", true, "")
	changeControl(s, http.MethodPut, "/C-1", `{"name":"n"}`)
	decide(s, "build", "t", "second", "C-1", false, "")
	changeControl(s, http.MethodPost, "/C-1/archive", "null")
	decide(s, "build", "t", "archived", "C-1", true, "")
	s.Want(http.StatusOK, http.MethodPost, s.TrailPath("t")+"/override", []byte(`{"attestation_name":"second","original_attestation_type":"system:decision","new_compliance_status":true,"reason":"r"}`))
	decisions := listDecisions(s, "C-1", "")
	if got := apitest.Column(t, decisions, "attestation_name") + ": " + apitest.Column(t, decisions, "control_version") + ": " + apitest.Column(t, decisions, "is_compliant"); got != "second archived second first before: 3 3 2 1 <nil>: true true false true true" {
		t.Errorf("newest first, the decisions are %s", got)
	}
	for name, want := range map[string]any{"before": nil, "first": 1.0, "archived": 3.0} {
		apitest.WantMembers(t, s.OnlyAttestation("t", name), map[string]any{"control_version": want, "control": "C-1"})
	}
}

func TestDecisionIsShownWithItsTargetAndItsEvidence(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateControl("C-1")
	s.ReportArtifact("build", "t", "app", apitest.AttestedFingerprint, apitest.FirstCommit)
	decide(s, "build", "t", "of-artifact", "C-1", true, `,"artifact_fingerprint":"`+apitest.AttestedFingerprint+`","description":"said","origin_url":"https://example.com/1","user_data":{"a":[1]}`,
		apitest.Attachment("evidence.txt", "content"))
	decide(s, "build", "t", "of-trail", "C-1", false, "")
	decide(s, "build", "t", "by-name", "C-1", false, `,"target_artifacts":["app"]`)
	decisions := listDecisions(s, "C-1", "?sort_direction=asc")
	ofArtifact := decisions[0]
	apitest.WantMembers(t, ofArtifact, map[string]any{
		"control": "C-1", "is_compliant": true, "attestation_name": "of-artifact", "control_version": 1.0, "flow_name": "build", "trail_name": "t",
		"artifact_fingerprint": apitest.AttestedFingerprint, "artifact_name": "app.jar", "description": "said", "origin_url": "https://example.com/1",
	})
	apitest.Equal(t, apitest.AsJSON(apitest.Lookup(t, ofArtifact, "user_data")), `{"a":[1]}`, "user_data")
	file := apitest.Lookup(t, ofArtifact, "evidence_files", 0)
	address := strings.TrimPrefix(apitest.Lookup(t, file, "download_url").(string), s.URL+"/api/v2")
	if got := s.Want(http.StatusOK, http.MethodGet, address, nil); string(got.Body) != "content" || apitest.Lookup(t, file, "filename") != "evidence.txt" {
		t.Errorf("the file %s is answered %s", apitest.AsJSON(file), got.Body)
	}
	for i, want := range []string{`null null`, `null "app"`} {
		decision := decisions[i+1]
		if got := apitest.AsJSON(apitest.Lookup(t, decision, "artifact_fingerprint")) + " " + apitest.AsJSON(apitest.Lookup(t, decision, "artifact_name")); got != want || len(apitest.Lookup(t, decision, "evidence_files").([]any)) != 0 {
			t.Errorf("decision %d is about %s: %s", i+1, got, apitest.AsJSON(decision))
		}
	}
	id := apitest.Lookup(t, ofArtifact, "id").(string)
	apitest.Equal(t, apitest.AsJSON(s.Read(s.ControlsPath()+"/C-1/decisions/"+id)),
		apitest.AsJSON(ofArtifact), "the single decision")
	s.CreateControl("C-2")
	s.WantError(http.StatusNotFound, "Decision '"+id+"' does not exist for control 'C-2'", http.MethodGet, s.ControlsPath()+"/C-2/decisions/"+id, "")
	s.WantError(http.StatusNotFound, "Decision 'a/b' does not exist for control 'C-1'", http.MethodGet, s.ControlsPath()+"/C-1/decisions/a%2Fb", "")
}

func TestDecisionsAreFiltered(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateControl("C-1")
	s.CreateControl("C-2")
	for i, flow := range []string{"build", "release", "build", "release"} {
		decide(s, flow, "t", fmt.Sprint("d", i), "C-1", i < 2, "")
	}
	decide(s, "build", "t", "other", "C-2", true, "")
	s.AttestGeneric("t", "generic", true, "")
	all := listDecisions(s, "C-1", "?sort_direction=asc")
	at := func(i int) string { return fmt.Sprintf("%.6f", apitest.Lookup(t, all[i], "timestamp")) }
	for query, want := range map[string]string{
		"": "d3 d2 d1 d0", "?sort_direction=asc": "d0 d1 d2 d3", "?is_compliant=true": "d1 d0", "?is_compliant=false": "d3 d2",
		"?from_timestamp=" + at(1): "d3 d2 d1", "?to_timestamp=" + at(1): "d1 d0", "?from_timestamp=" + at(1) + "&to_timestamp=" + at(2): "d2 d1", "?to_timestamp=0": "",
		"?flow_id=" + s.FlowID("build"): "d2 d0", "?flow_id=" + s.FlowID("build") + "&flow_id=" + s.FlowID("release"): "d3 d2 d1 d0",
		"?flow_id=none": "", "?flow_id=": "", "?flow_id=" + s.FlowID("release") + "&is_compliant=true": "d1",
		"?per_page=3": "d3 d2 d1", "?per_page=3&page=2": "d0", "?per_page=3&page=3": "", "?per_page=1&page=2&is_compliant=false": "d2",
	} {
		t.Run(s.CaseName(strings.NewReplacer(at(1), "second", at(2), "third").Replace(query)), func(t *testing.T) {
			apitest.Equal(t, apitest.Column(t, any(listDecisions(s.In(t), "C-1", query)), "attestation_name"), want, "listed")
		})
	}
	page := s.Read(s.ControlsPath() + "/C-1/decisions?per_page=3&is_compliant=false")
	apitest.WantMembers(t, page, map[string]any{"total_count": 2.0, "total_pages": 1.0})
	path := "/api/v2" + s.ControlsPath() + "/C-1/decisions?" + strings.Repeat("flow_id=a&", 1001)
	apitest.WantProblem(t, s.Do(http.MethodGet, path, apitest.AdminKey, nil), http.StatusBadRequest, apitest.ValidationMessage, map[string]string{"query.flow_id": apitest.TooManyTexts})
}

func TestDecisionsShowTheCurrentNameOfTheirFlow(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateControl("C-1")
	decide(s, "build", "t", "d", "C-1", true, "", apitest.Attachment("e.txt", "content"))
	s.Want(http.StatusOK, http.MethodPut, s.FlowsPath()+"/build/rename", []byte(`{"new_name":"assemble"}`))
	decision := listDecisions(s, "C-1", "")[0]
	address := strings.TrimPrefix(apitest.Lookup(t, decision, "evidence_files", 0, "download_url").(string), s.URL+"/api/v2")
	if got := s.Want(http.StatusOK, http.MethodGet, address, nil); apitest.Lookup(t, decision, "flow_name") != "assemble" || string(got.Body) != "content" {
		t.Errorf("the decision is %s", apitest.AsJSON(decision))
	}
}
