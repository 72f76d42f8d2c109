package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// decide records a decision in a trail of a flow. more is empty or further members, each after a comma.
func (s *service) decide(flow, trail, name, control string, compliant bool, more string, files ...part) {
	s.t.Helper()
	s.wantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.org+"/"+flow+"/trail/"+trail+"/system", fmt.Sprintf(
		`{"attestation_name":%q,"type_name":"decision","control":%q,"attestation_data":{"is_compliant":%t}%s}`, name, control, compliant, more), files...)
}

// listDecisions returns a page of the decisions on a control.
func (s *service) listDecisions(control, query string) []any {
	s.t.Helper()
	list := s.read(s.controlsPath() + "/" + control + "/decisions" + query)
	clientReads(s.t, "control_decisions", list)
	decisions := lookup(s.t, list, "decisions").([]any)
	for _, decision := range decisions {
		clientReads(s.t, "control_decision", decision)
	}
	return decisions
}

func TestDecisionsRecordTheVersionOfTheControl(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.decide("build", "t", "before", "C-1", true, "")
	s.createControl("C-1")
	s.decide("build", "t", "first", "C-1", true, "")
	s.changeControl(http.MethodPut, "/C-1", `{"name":"n"}`)
	s.decide("build", "t", "second", "C-1", false, "")
	s.changeControl(http.MethodPost, "/C-1/archive", "null")
	s.decide("build", "t", "archived", "C-1", true, "")
	s.want(http.StatusOK, http.MethodPost, s.trailPath("t")+"/override", []byte(`{"attestation_name":"second","original_attestation_type":"system:decision","new_compliance_status":true,"reason":"r"}`))
	decisions := s.listDecisions("C-1", "")
	if got := column(t, decisions, "attestation_name") + ": " + column(t, decisions, "control_version") + ": " + column(t, decisions, "is_compliant"); got != "second archived second first before: 3 3 2 1 <nil>: true true false true true" {
		t.Errorf("newest first, the decisions are %s", got)
	}
	for name, want := range map[string]any{"before": nil, "first": 1.0, "archived": 3.0} {
		if shown := s.onlyAttestation("t", name); lookup(t, shown, "control_version") != want || lookup(t, shown, "control") != "C-1" {
			t.Errorf("the attestation %s shows version %v", name, lookup(t, shown, "control_version"))
		}
	}
}

func TestDecisionIsShownWithItsTargetAndItsEvidence(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createControl("C-1")
	s.reportArtifact("build", "t", "app", attestedFingerprint, firstCommit)
	s.decide("build", "t", "of-artifact", "C-1", true, `,"artifact_fingerprint":"`+attestedFingerprint+`","description":"said","origin_url":"https://example.com/1","user_data":{"a":[1]}`,
		attachment("evidence.txt", "content"))
	s.decide("build", "t", "of-trail", "C-1", false, "")
	s.decide("build", "t", "by-name", "C-1", false, `,"target_artifacts":["app"]`)
	decisions := s.listDecisions("C-1", "?sort_direction=asc")
	ofArtifact := decisions[0]
	for member, want := range map[string]any{
		"control": "C-1", "is_compliant": true, "attestation_name": "of-artifact", "control_version": 1.0, "flow_name": "build", "trail_name": "t",
		"artifact_fingerprint": attestedFingerprint, "artifact_name": "app.jar", "description": "said", "origin_url": "https://example.com/1",
	} {
		if got := lookup(t, ofArtifact, member); got != want {
			t.Errorf("%s is %v", member, got)
		}
	}
	if got := asJSON(lookup(t, ofArtifact, "user_data")); got != `{"a":[1]}` {
		t.Errorf("user_data is %s", got)
	}
	file := lookup(t, ofArtifact, "evidence_files", 0)
	address := strings.TrimPrefix(lookup(t, file, "download_url").(string), s.URL+"/api/v2")
	if got := s.want(http.StatusOK, http.MethodGet, address, nil); string(got.body) != "content" || lookup(t, file, "filename") != "evidence.txt" {
		t.Errorf("the file %s is answered %s", asJSON(file), got.body)
	}
	for i, want := range []string{`null null`, `null "app"`} {
		decision := decisions[i+1]
		if got := asJSON(lookup(t, decision, "artifact_fingerprint")) + " " + asJSON(lookup(t, decision, "artifact_name")); got != want || len(lookup(t, decision, "evidence_files").([]any)) != 0 {
			t.Errorf("decision %d is about %s: %s", i+1, got, asJSON(decision))
		}
	}
	id := lookup(t, ofArtifact, "id").(string)
	if alone := s.read(s.controlsPath() + "/C-1/decisions/" + id); asJSON(alone) != asJSON(ofArtifact) {
		t.Errorf("the single decision is %s", asJSON(alone))
	}
	s.createControl("C-2")
	s.wantError(http.StatusNotFound, "Decision '"+id+"' does not exist for control 'C-2'", http.MethodGet, s.controlsPath()+"/C-2/decisions/"+id, "")
	s.wantError(http.StatusNotFound, "Decision 'a/b' does not exist for control 'C-1'", http.MethodGet, s.controlsPath()+"/C-1/decisions/a%2Fb", "")
}

func TestDecisionsAreFiltered(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createControl("C-1")
	s.createControl("C-2")
	for i, flow := range []string{"build", "release", "build", "release"} {
		s.decide(flow, "t", fmt.Sprint("d", i), "C-1", i < 2, "")
	}
	s.decide("build", "t", "other", "C-2", true, "")
	s.attestGeneric("t", "generic", true, "")
	all := s.listDecisions("C-1", "?sort_direction=asc")
	at := func(i int) string { return fmt.Sprintf("%.6f", lookup(t, all[i], "timestamp")) }
	for query, want := range map[string]string{
		"": "d3 d2 d1 d0", "?sort_direction=asc": "d0 d1 d2 d3", "?is_compliant=true": "d1 d0", "?is_compliant=false": "d3 d2",
		"?from_timestamp=" + at(1): "d3 d2 d1", "?to_timestamp=" + at(1): "d1 d0", "?from_timestamp=" + at(1) + "&to_timestamp=" + at(2): "d2 d1", "?to_timestamp=0": "",
		"?flow_id=" + s.flowID("build"): "d2 d0", "?flow_id=" + s.flowID("build") + "&flow_id=" + s.flowID("release"): "d3 d2 d1 d0",
		"?flow_id=none": "", "?flow_id=": "", "?flow_id=" + s.flowID("release") + "&is_compliant=true": "d1",
		"?per_page=3": "d3 d2 d1", "?per_page=3&page=2": "d0", "?per_page=3&page=3": "", "?per_page=1&page=2&is_compliant=false": "d2",
	} {
		t.Run(s.caseName(strings.NewReplacer(at(1), "second", at(2), "third").Replace(query)), func(t *testing.T) {
			if got := column(t, any(s.in(t).listDecisions("C-1", query)), "attestation_name"); got != want {
				t.Errorf("listed %q, want %q", got, want)
			}
		})
	}
	page := s.read(s.controlsPath() + "/C-1/decisions?per_page=3&is_compliant=false")
	if lookup(t, page, "total_count") != 2.0 || lookup(t, page, "total_pages") != 1.0 {
		t.Errorf("the page is %s", asJSON(page))
	}
	path := "/api/v2" + s.controlsPath() + "/C-1/decisions?" + strings.Repeat("flow_id=a&", 1001)
	wantProblem(t, s.do(http.MethodGet, path, adminKey, nil), http.StatusBadRequest, validationMessage, map[string]string{"query.flow_id": tooManyTexts})
}

// tooManyTexts is the error for a list of 1001 times the text a where 1000 items are allowed.
var tooManyTexts = "List should have at most 1000 items after validation, not 1001 [input: [" + strings.Repeat("'a', ", 39) + "'a',...]"

func TestDecisionsShowTheCurrentNameOfTheirFlow(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createControl("C-1")
	s.decide("build", "t", "d", "C-1", true, "", attachment("e.txt", "content"))
	s.want(http.StatusOK, http.MethodPut, s.flowsPath()+"/build/rename", []byte(`{"new_name":"assemble"}`))
	decision := s.listDecisions("C-1", "")[0]
	address := strings.TrimPrefix(lookup(t, decision, "evidence_files", 0, "download_url").(string), s.URL+"/api/v2")
	if got := s.want(http.StatusOK, http.MethodGet, address, nil); lookup(t, decision, "flow_name") != "assemble" || string(got.body) != "content" {
		t.Errorf("the decision is %s", asJSON(decision))
	}
}
