package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
)

// storePolicy stores a policy. Each rule is a line of its YAML file.
func (s *service) storePolicy(name string, rules ...string) {
	s.t.Helper()
	content := "_schema: https://kosli.com/schemas/policy/environment/v1\nartifacts:\n"
	for _, rule := range rules {
		content += "  " + rule + "\n"
	}
	file := part{field: "policy_file", filename: "policy.yml", contentType: "application/octet-stream", content: []byte(content)}
	if got := s.form(http.MethodPut, "/policies/"+s.org, adminKey, "payload", fmt.Sprintf(`{"name":%q}`, name), file); got.status >= http.StatusBadRequest {
		s.t.Fatalf("policy %s: %d %s", name, got.status, got.body)
	}
}

func (s *service) attach(environment string, policies ...string) {
	s.t.Helper()
	s.want(http.StatusOK, http.MethodPost, s.environmentsPath()+"/"+environment+"/policies", policyNames(policies...))
}

func (s *service) detach(environment string, policies ...string) {
	s.t.Helper()
	s.want(http.StatusOK, http.MethodDelete, s.environmentsPath()+"/"+environment+"/policies", policyNames(policies...))
}

func policyNames(names ...string) []byte {
	return []byte(`{"policy_names":["` + strings.Join(names, `","`) + `"]}`)
}

// wantRunning compares the latest snapshot: its number and verdict, then a line for each artifact with its verdict,
// annotation and the types of its reasons.
func (s *service) wantRunning(environment string, want ...string) {
	s.t.Helper()
	snapshot := s.getSnapshot(environment, "-1")
	got := []string{fmt.Sprintf("%d %t", snapshot.Index, *snapshot.Compliant)}
	for _, artifact := range snapshot.Artifacts {
		line := strings.TrimPrefix(artifact["name"].(string), "/opt/") + " " + asJSON(artifact["compliant"]) + " " + annotation(artifact)
		if by, changed := artifact["annotation"].(map[string]any)["by"].(string); changed {
			line += " by " + by
		}
		for _, reason := range artifact["reasons_for_incompliance"].([]any) {
			line += " " + lookup(s.t, reason, "type").(string)
		}
		got = append(got, line)
	}
	slices.Sort(got[1:])
	if !slices.Equal(got, want) {
		s.t.Errorf("snapshot of %s:\n%s\nwant\n%s", environment, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAttachingAndDetachingCreateSnapshotsAtOnce(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.createEnvironment("prod", evidence.Server)
	s.reportFile("build", "web")
	s.reportServer("prod", "web", "db")
	s.storePolicy("provenance", "provenance: {required: true}")
	s.storePolicy("scan", "attestations: [{type: snyk}]")
	s.wantRunning("prod", "1 false", "db null started-unknown", "web null started-unknown")

	s.attach("prod", "provenance")
	s.wantRunning("prod", "2 false", "db false became-non-compliant by policies missing_provenance", "web true became-compliant by policies")
	s.attach("prod", "scan", "provenance")
	s.wantRunning("prod", "3 false", "db false changed by policies missing_provenance no_provenance", "web false became-non-compliant by policies missing_attestation")
	s.attach("prod", "scan") // again
	if got := s.getSnapshot("prod", "-1"); got.Index != 3 {
		t.Errorf("attaching again created snapshot %d", got.Index)
	}
	if got := asJSON(lookup(t, s.read(s.environmentsPath()+"/prod"), "policies")); got != `["provenance","scan"]` {
		t.Errorf("the environment has the policies %s", got)
	}
	if got := asJSON(lookup(t, s.read("/policies/"+s.org+"/scan"), "consuming_envs")); got != `["prod"]` {
		t.Errorf("the policy is attached to %s", got)
	}
	s.detach("prod", "provenance")
	s.wantRunning("prod", "4 false", "db false changed by policies no_provenance", "web false changed by policies missing_attestation")
	s.detach("prod", "scan")
	s.wantRunning("prod", "5 false", "db null changed by policies", "web null changed by policies")
	if got := lookup(t, s.read(s.environmentsPath()+"/prod"), "state"); got != nil {
		t.Errorf("without policies the state is %v", got)
	}
}

// TestEvaluationsHaveTheirOwnQueue sends a report, then attaches a policy. A worker of the queue compliance also
// processes the report that precedes the evaluation. A worker of the queue reports does not evaluate.
func TestEvaluationsHaveTheirOwnQueue(t *testing.T) {
	t.Parallel()
	for queue, running := range map[string][]string{
		"compliance": {"1 false", "web false started-non-compliant missing_provenance"},
		"reports":    {"1 false", "web null started-unknown"},
	} {
		t.Run(queue, func(t *testing.T) {
			t.Parallel()
			s := start(t, options{reportWait: time.Second, settings: []string{"ATTESTRY_QUEUES=" + queue + "=1"}})
			s.createEnvironment("prod", evidence.Server)
			s.storePolicy("provenance", "provenance: {required: true}")
			if got := s.do(http.MethodPut, "/api/v2"+s.environmentsPath()+"/prod/report/server", snapshotterKey, serverReport("web")); got.status >= http.StatusBadRequest {
				t.Fatalf("the report is answered %d", got.status)
			}
			s.attach("prod", "provenance")
			s.wantRunning("prod", running...)
		})
	}
}

func TestWritingAnEnvironmentReplacesItsPolicies(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.storePolicy("one", "provenance: {required: true}")
	s.storePolicy("two", "trail-compliance: {required: true}")
	path := s.environmentsPath()
	body := `{"name":"prod","type":"server","description":"","policies":["one","two"]}`
	s.want(http.StatusCreated, http.MethodPut, path, []byte(body))
	s.reportServer("prod", "web")
	s.wantRunning("prod", "1 false", "web false started-non-compliant missing_provenance no_provenance")
	s.want(http.StatusOK, http.MethodPut, path, []byte(strings.Replace(body, `["one","two"]`, `["two","one"]`, 1)))
	s.want(http.StatusOK, http.MethodPatch, path+"/prod", []byte(`{"description":"kept"}`))
	if got := s.getSnapshot("prod", "-1").Index; got != 1 {
		t.Errorf("writes that change no policy created snapshot %d", got)
	}
	s.want(http.StatusOK, http.MethodPatch, path+"/prod", []byte(`{"policies":["one"]}`))
	s.wantRunning("prod", "2 false", "web false changed by policies missing_provenance")
	s.want(http.StatusOK, http.MethodPut, path, []byte(strings.Replace(body, `["one","two"]`, `[]`, 1)))
	s.wantRunning("prod", "3 false", "web null changed by policies")
}

func TestInvalidPolicyAttachmentsAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.want(http.StatusCreated, http.MethodPut, s.environmentsPath(), []byte(`{"name":"all","type":"logical","description":"","included_environments":["prod"]}`))
	s.storePolicy("known", "provenance: {required: true}")
	unknown := "Policy 'nope' does not exist in organization '" + s.org + "'"
	path := s.environmentsPath()
	s.wantError(http.StatusNotFound, unknown, http.MethodPost, path+"/prod/policies", `{"policy_names":["known","nope"]}`)
	s.wantError(http.StatusNotFound, unknown, http.MethodDelete, path+"/prod/policies", `{"policy_names":["nope"]}`)
	s.wantError(http.StatusNotFound, unknown, http.MethodPatch, path+"/prod", `{"policies":["nope"]}`)
	s.wantError(http.StatusNotFound, "Environment named 'nope' does not exist for organization '"+s.org+"'", http.MethodPost, path+"/nope/policies", `{"policy_names":["known"]}`)
	for _, body := range []string{`{}`, `{"policy_names":"known"}`, `{"policy_names":[1]}`, `{"policy_names":["known"],"more":1}`} {
		s.want(http.StatusBadRequest, http.MethodPost, path+"/prod/policies", []byte(body))
	}
	many := make([]string, evidence.MaxPolicies+1)
	for i := range many {
		many[i] = fmt.Sprint("p", i)
	}
	s.want(http.StatusBadRequest, http.MethodPost, path+"/prod/policies", policyNames(many...))
	s.want(http.StatusBadRequest, http.MethodPost, path+"/all/policies", policyNames("known"))
	s.want(http.StatusBadRequest, http.MethodPatch, path+"/all", []byte(`{"policies":["known"]}`))
	if got := asJSON(lookup(t, s.read(path+"/prod"), "policies")); got != "[]" {
		t.Errorf("refused requests attached %s", got)
	}
	if got := s.do(http.MethodPost, "/api/v2"+path+"/prod/policies", snapshotterKey, policyNames("known")); got.status != http.StatusForbidden {
		t.Errorf("a snapshotter is answered %d", got.status)
	}
}

// TestNewEvidenceMakesAnEnvironmentCompliant records one after the other what the policy requires.
func TestNewEvidenceMakesAnEnvironmentCompliant(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.createEnvironment("prod", evidence.Server)
	s.reportFile("build", "web")
	s.createControl("R-1")
	s.storePolicy("production", "trail-compliance: {required: true}",
		"attestations: [{type: generic, name: tested}, {type: decision, for_control: R-1}]")
	s.attach("prod", "production")
	s.reportServer("prod", "web")
	s.wantRunning("prod", "1 false", "web false started-non-compliant missing_attestation missing_attestation")

	s.attestGeneric("trail-of-web", "tested", false, "")
	s.reportServer("prod", "web")
	s.wantRunning("prod", "2 false", "web false changed by evidence non_compliant_in_trail non_compliant_attestation missing_attestation")
	s.postAttestation(http.StatusCreated, "release-1", "system",
		`{"attestation_name":"approved","type_name":"decision","control":"R-1","artifact_fingerprint":"`+evidence.HashAPIKey("web")+`","attestation_data":{"is_compliant":true}}`)
	s.reportServer("prod", "web")
	s.wantRunning("prod", "3 false", "web false changed by evidence non_compliant_in_trail non_compliant_attestation")
	s.want(http.StatusOK, http.MethodPost, s.trailPath("trail-of-web")+"/override",
		[]byte(`{"attestation_name":"tested","original_attestation_type":"generic","new_compliance_status":true,"reason":"Tested by hand"}`))
	s.reportServer("prod", "web")
	s.wantRunning("prod", "4 true", "web true became-compliant by evidence")
	if got := lookup(t, s.read(s.environmentsPath()+"/prod"), "state"); got != true {
		t.Errorf("the state is %v", got)
	}
}

func TestAllowedArtifactIsCompliantWhateverPoliciesSay(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.storePolicy("provenance", "provenance: {required: true}")
	s.attach("prod", "provenance")
	s.reportServer("prod", "web")
	s.wantRunning("prod", "1 false", "web false started-non-compliant missing_provenance")
	s.allowArtifact("prod", "web", "Legacy")
	s.wantRunning("prod", "2 true", "web true became-compliant by allow_list")
	decisions := s.getSnapshot("prod", "-1").artifact(t, "web")["policy_decisions"]
	if got := lookup(t, decisions, 0, "status"); got != "NON-COMPLIANT" {
		t.Errorf("the policy says %v", got)
	}
}

func TestPermittedArtifactGetsAndLosesItsVerdictByPolicies(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.storePolicy("provenance", "provenance: {required: true}")
	s.attach("prod", "provenance")
	s.allowArtifact("prod", "web", "Legacy")
	s.reportServer("prod", "web")
	s.detach("prod", "provenance")
	s.wantRunning("prod", "2 false", "web null changed by policies")
	s.attach("prod", "provenance")
	s.wantRunning("prod", "3 true", "web true became-compliant by policies")
}

// TestResolutionsSayWhichConditionCannotBeEvaluated compares a snapshot and an assert. What the rules ask for is there.
func TestResolutionsSayWhichConditionCannotBeEvaluated(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.reportFile("build", "web")
	s.attestGeneric("trail-of-web", "tested", true, "")
	s.want(http.StatusOK, http.MethodPatch, s.tagsPath()+"/flow/build", []byte(`{"set_tags":{"num":"abc"}}`))
	s.storePolicy("production", "provenance: {required: true, exceptions: [{if: '${{ flow.tags.num < 3 }}'}]}",
		"attestations: [{type: generic, name: tested}, {type: generic, name: tested, if: '${{ flow.tags.num < 3 }}'}]")
	s.attach("prod", "production")
	s.reportServer("prod", "web")
	decisions := s.getSnapshot("prod", "-1").artifact(t, "web")["policy_decisions"]
	for name, evaluation := range map[string]any{
		"snapshot": lookup(t, decisions, 0), "assert": lookup(t, s.read(s.assertPath("web", "?policy_name=production")), "policy_evaluations", 0),
	} {
		t.Run(name, func(t *testing.T) {
			for rule, kind := range map[int]string{0: "missing_provenance", 2: "rule_satisfied", 3: "missing_attestation"} {
				resolution := lookup(t, evaluation, "rule_evaluations", rule, "resolutions", 0)
				text, failed := lookup(t, resolution, "context").(map[string]any)["error"].(string)
				if lookup(t, resolution, "type") != kind || failed != (rule != 2) || failed && !strings.HasPrefix(text, "the condition flow.tags.num < 3 cannot be evaluated: ") {
					t.Errorf("rule %d is resolved as %s", rule, asJSON(resolution))
				}
			}
		})
	}
}

func TestEmptyEnvironmentWithPoliciesIsCompliant(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.storePolicy("provenance", "provenance: {required: true}")
	s.attach("prod", "provenance")
	s.reportServer("prod")
	s.wantRunning("prod", "1 true")
	s.detach("prod", "provenance")
	s.wantRunning("prod", "2 false")
}

func TestNewVersionOfAPolicyAppliesFromTheNextReport(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.storePolicy("production", "provenance: {required: true}")
	s.attach("prod", "production")
	s.reportServer("prod", "web")
	s.storePolicy("production", `provenance: {required: true, exceptions: [{if: "${{ matches(artifact.name, '/opt/') }}"}]}`)
	s.wantRunning("prod", "1 false", "web false started-non-compliant missing_provenance")
	s.reportServer("prod", "web")
	s.wantRunning("prod", "2 true", "web true became-compliant by policies")
	applied := lookup(t, s.read("/snapshots/"+s.org+"/prod/1"), "applied_policies", 0)
	if lookup(t, applied, "version") != 1.0 || lookup(t, applied, "failing_artifacts", 0, "name") != "/opt/web" {
		t.Errorf("the first snapshot applied %s", asJSON(applied))
	}
}

func TestSnapshotShowsPoliciesAsClientsReadThem(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.reportFile("build", "web")
	s.createControl("R-1")
	s.storePolicy("production", `provenance: {required: true, exceptions: [{if: "${{ flow.name == 'x' }}"}]}`, "trail-compliance: {required: true}",
		"attestations: [{type: decision, for_control: R-1}, {type: snyk, name: scan, if: \"${{ flow.name == 'build' }}\", must_be_compliant: false}]")
	s.attach("prod", "production")
	s.reportServer("prod", "web")
	body := s.read("/snapshots/" + s.org + "/prod/-1?explain=true")
	policy := lookup(t, body, "applied_policies", 0)
	clientReads(t, "applied_policy", policy)
	wantDump := `{"artifacts":{"attestations":[{"for_control":"R-1","if_condition":null,"must_be_compliant":true,"name":"*","type":"decision"},` +
		`{"for_control":null,"if_condition":{"text":"flow.name == 'build'"},"must_be_compliant":false,"name":"scan","type":"snyk"}],` +
		`"provenance":{"exceptions":[{"if_condition":{"text":"flow.name == 'x'"}}],"required":true},"trail_compliance":{"exceptions":[],"required":true}},"schema_version":"1"}`
	dump, err := json.Marshal(lookup(t, policy, "policy_dump"))
	s.must(err)
	if got := string(dump); got != wantDump {
		t.Errorf("the policy is shown as\n%s\nwant\n%s", got, wantDump)
	}
	artifact := lookup(t, body, "artifacts", 0)
	wantDecisions := `[{"policy_name":"production","policy_version":1,"rule_evaluations":[` +
		`{"ignored":false,"resolutions":[{"context":{"artifact_status":null,"flow_name":"build","trail_name":"trail-of-web"},"type":"rule_satisfied"}],` +
		`"rule":{"definition":{"exceptions":[{"if":{"text":"flow.name == 'x'"}}],"required":true},"type":"provenance"},"satisfied":true},` +
		`{"ignored":false,"resolutions":[{"context":{"artifact_status":"COMPLIANT","flow_name":"build","trail_name":"trail-of-web"},"type":"rule_satisfied"}],` +
		`"rule":{"definition":{"exceptions":[],"required":true},"type":"trail-compliance"},"satisfied":true},` +
		`{"ignored":false,"resolutions":[{"context":{"artifact_status":null,"attestation_name":"*","attestation_type":"decision","flow_name":"build","for_control":"R-1","trail_name":"trail-of-web"},"type":"missing_attestation"}],` +
		`"rule":{"definition":{"for_control":"R-1","if":null,"must_be_compliant":true,"name":"*","type":"decision"},"type":"attestation"},"satisfied":false},` +
		`{"ignored":false,"resolutions":[{"context":{"artifact_status":null,"attestation_name":"scan","attestation_type":"snyk","flow_name":"build","trail_name":"trail-of-web"},"type":"missing_attestation"}],` +
		`"rule":{"definition":{"for_control":null,"if":{"text":"flow.name == 'build'"},"must_be_compliant":false,"name":"scan","type":"snyk"},"type":"attestation"},"satisfied":false}],"status":"NON-COMPLIANT"}]`
	decisions, err := json.Marshal(lookup(t, artifact, "policy_decisions"))
	s.must(err)
	if got := string(decisions); got != wantDecisions {
		t.Errorf("the decisions are\n%s\nwant\n%s", got, wantDecisions)
	}
	if got := lookup(t, artifact, "flows", 0, "flow_reasons_for_non_compliance").([]any); len(got) != 2 {
		t.Errorf("the reasons of the flow are %s", asJSON(got))
	}
	explanation := lookup(t, artifact, "explanation").([]any)
	if len(explanation) != 2 || lookup(t, explanation[0], "text") != "There is no decision on control 'R-1' for the artifact or one of its trails." ||
		lookup(t, explanation[1], "remedy") != "Record an attestation 'scan' of type snyk for the artifact or its trail 'trail-of-web' in flow 'build'." {
		t.Errorf("it is explained by %s", asJSON(explanation))
	}
	if _, ok := lookup(t, s.read("/snapshots/"+s.org+"/prod/-1"), "artifacts", 0).(map[string]any)["explanation"]; ok {
		t.Error("it is explained without the parameter explain")
	}
}

func TestDetachingEvaluatesAgainWhileAWorkerMayEvaluateWithThePolicy(t *testing.T) {
	t.Parallel()
	s := start(t, options{withoutWorker: true, settings: []string{"ATTESTRY_REPORT_WAIT=1ms"}})
	s.putPolicy(http.StatusCreated, `{"name":"guard"}`, policyFile(policyHead))
	store, requested := s.Process.Store, map[string]bool{}
	for environment, holder := range map[string]string{"idle": "", "busy": "a worker"} {
		s.createEnvironment(environment, evidence.Server)
		id := s.environmentID(environment)
		_, err := storage.Upsert(t.Context(), store.Heads.Collection, snapshot.Head{Environment: id}, storage.WithoutError(func(head *snapshot.Head) {
			head.Lease.Holder = holder
		}))
		s.must(err)
		// The last snapshot was not evaluated with the policy.
		s.detach(environment, "guard")
		requested[environment], err = store.Reports.Exists(t.Context(), id, 1)
		s.must(err)
	}
	if requested["idle"] || !requested["busy"] {
		t.Errorf("evaluations are requested for %v", requested)
	}
}
