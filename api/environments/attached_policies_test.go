package environments_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
)

func detach(s *apitest.Service, environment string, policies ...string) {
	s.T.Helper()
	s.Want(http.StatusOK, http.MethodDelete, s.EnvironmentsPath()+"/"+environment+"/policies", apitest.PolicyNames(policies...))
}

// wantRunning compares the latest snapshot: its number and verdict, then a line for each artifact with its verdict,
// annotation and the types of its reasons.
func wantRunning(s *apitest.Service, environment string, want ...string) {
	s.T.Helper()
	snapshot := s.GetSnapshot(environment, "-1")
	got := []string{fmt.Sprintf("%d %t", snapshot.Index, *snapshot.Compliant)}
	for _, artifact := range snapshot.Artifacts {
		line := strings.TrimPrefix(artifact["name"].(string), "/opt/") + " " + apitest.AsJSON(artifact["compliant"]) + " " + apitest.Annotation(artifact)
		if by, changed := artifact["annotation"].(map[string]any)["by"].(string); changed {
			line += " by " + by
		}
		for _, reason := range artifact["reasons_for_incompliance"].([]any) {
			line += " " + apitest.Lookup(s.T, reason, "type").(string)
		}
		got = append(got, line)
	}
	slices.Sort(got[1:])
	apitest.EqualList(s.T, got, want, environment)
}

func TestAttachingAndDetachingCreateSnapshotsAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.ReportFile("build", "web")
	s.ReportServer("prod", "web", "db")
	s.StorePolicy("provenance", "provenance: {required: true}")
	s.StorePolicy("scan", "attestations: [{type: snyk}]")
	wantRunning(s, "prod", "1 false", "db null started-unknown", "web null started-unknown")

	s.Attach("prod", "provenance")
	wantRunning(s, "prod", "2 false", "db false became-non-compliant by policies missing_provenance", "web true became-compliant by policies")
	s.Attach("prod", "scan", "provenance")
	wantRunning(s, "prod", "3 false", "db false changed by policies missing_provenance no_provenance", "web false became-non-compliant by policies missing_attestation")
	s.Attach("prod", "scan") // again
	apitest.Equal(t, s.GetSnapshot("prod", "-1").Index, 3, "attaching again created snapshot")
	apitest.Equal(t, apitest.AsJSON(apitest.Lookup(t, s.Read(s.EnvironmentsPath()+"/prod"), "policies")),
		`["provenance","scan"]`, "the environment has the policies")
	apitest.Equal(t, apitest.AsJSON(apitest.Lookup(t, s.Read("/policies/"+s.Org+"/scan"), "consuming_envs")),
		`["prod"]`, "the policy is attached to")
	detach(s, "prod", "provenance")
	wantRunning(s, "prod", "4 false", "db false changed by policies no_provenance", "web false changed by policies missing_attestation")
	detach(s, "prod", "scan")
	wantRunning(s, "prod", "5 false", "db null changed by policies", "web null changed by policies")
	apitest.Equal(t, apitest.Lookup(t, s.Read(s.EnvironmentsPath()+"/prod"), "state"), nil, "without policies the state")
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
			s := apitest.Start(t, apitest.Options{ReportWait: time.Second, Settings: []string{"ATTESTRY_QUEUES=" + queue + "=1"}})
			s.CreateEnvironment("prod", evidence.Server)
			s.StorePolicy("provenance", "provenance: {required: true}")
			if got := s.Do(http.MethodPut, "/api/v2"+s.EnvironmentsPath()+"/prod/report/server", apitest.SnapshotterKey, apitest.ServerReport("web")); got.Status >= http.StatusBadRequest {
				t.Fatalf("the report is answered %d", got.Status)
			}
			// A task of an environment also processes what arrives before it ends.
			apitest.Eventually(t, "the task of the report ends", func() bool {
				waiting, running, _ := s.Process.Tasks.Here(queue)
				return waiting+running == 0
			})
			s.Attach("prod", "provenance")
			wantRunning(s, "prod", running...)
		})
	}
}

func TestWritingAnEnvironmentReplacesItsPolicies(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.StorePolicy("one", "provenance: {required: true}")
	s.StorePolicy("two", "trail-compliance: {required: true}")
	path := s.EnvironmentsPath()
	body := `{"name":"prod","type":"server","description":"","policies":["one","two"]}`
	s.Want(http.StatusCreated, http.MethodPut, path, []byte(body))
	s.ReportServer("prod", "web")
	wantRunning(s, "prod", "1 false", "web false started-non-compliant missing_provenance no_provenance")
	s.Want(http.StatusOK, http.MethodPut, path, []byte(strings.Replace(body, `["one","two"]`, `["two","one"]`, 1)))
	s.Want(http.StatusOK, http.MethodPatch, path+"/prod", []byte(`{"description":"kept"}`))
	apitest.Equal(t, s.GetSnapshot("prod", "-1").Index, 1, "writes that change no policy created snapshot")
	s.Want(http.StatusOK, http.MethodPatch, path+"/prod", []byte(`{"policies":["one"]}`))
	wantRunning(s, "prod", "2 false", "web false changed by policies missing_provenance")
	s.Want(http.StatusOK, http.MethodPut, path, []byte(strings.Replace(body, `["one","two"]`, `[]`, 1)))
	wantRunning(s, "prod", "3 false", "web null changed by policies")
}

func TestInvalidPolicyAttachmentsAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.Want(http.StatusCreated, http.MethodPut, s.EnvironmentsPath(), []byte(`{"name":"all","type":"logical","description":"","included_environments":["prod"]}`))
	s.StorePolicy("known", "provenance: {required: true}")
	unknown := "Policy 'nope' does not exist in organization '" + s.Org + "'"
	path := s.EnvironmentsPath()
	s.WantError(http.StatusNotFound, unknown, http.MethodPost, path+"/prod/policies", `{"policy_names":["known","nope"]}`)
	s.WantError(http.StatusNotFound, unknown, http.MethodDelete, path+"/prod/policies", `{"policy_names":["nope"]}`)
	s.WantError(http.StatusNotFound, unknown, http.MethodPatch, path+"/prod", `{"policies":["nope"]}`)
	s.WantError(http.StatusNotFound, "Environment named 'nope' does not exist for organization '"+s.Org+"'", http.MethodPost, path+"/nope/policies", `{"policy_names":["known"]}`)
	for _, body := range []string{`{}`, `{"policy_names":"known"}`, `{"policy_names":[1]}`, `{"policy_names":["known"],"more":1}`} {
		s.Want(http.StatusBadRequest, http.MethodPost, path+"/prod/policies", []byte(body))
	}
	many := make([]string, evidence.MaxPolicies+1)
	for i := range many {
		many[i] = fmt.Sprint("p", i)
	}
	s.Want(http.StatusBadRequest, http.MethodPost, path+"/prod/policies", apitest.PolicyNames(many...))
	s.Want(http.StatusBadRequest, http.MethodPost, path+"/all/policies", apitest.PolicyNames("known"))
	s.Want(http.StatusBadRequest, http.MethodPatch, path+"/all", []byte(`{"policies":["known"]}`))
	apitest.Equal(t, apitest.AsJSON(apitest.Lookup(t, s.Read(path+"/prod"), "policies")),
		"[]", "refused requests attached")
	if got := s.Do(http.MethodPost, "/api/v2"+path+"/prod/policies", apitest.SnapshotterKey, apitest.PolicyNames("known")); got.Status != http.StatusForbidden {
		t.Errorf("a snapshotter is answered %d", got.Status)
	}
}

// TestNewEvidenceMakesAnEnvironmentCompliant records one after the other what the policy requires.
func TestNewEvidenceMakesAnEnvironmentCompliant(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.ReportFile("build", "web")
	s.CreateControl("R-1")
	s.StorePolicy("production", "trail-compliance: {required: true}",
		"attestations: [{type: generic, name: tested}, {type: decision, for_control: R-1}]")
	s.Attach("prod", "production")
	s.ReportServer("prod", "web")
	wantRunning(s, "prod", "1 false", "web false started-non-compliant missing_attestation missing_attestation")

	s.AttestGeneric("trail-of-web", "tested", false, "")
	s.ReportServer("prod", "web")
	wantRunning(s, "prod", "2 false", "web false changed by evidence non_compliant_in_trail non_compliant_attestation missing_attestation")
	s.PostAttestation(http.StatusCreated, "release-1", "system",
		`{"attestation_name":"approved","type_name":"decision","control":"R-1","artifact_fingerprint":"`+evidence.HashAPIKey("web")+`","attestation_data":{"is_compliant":true}}`)
	s.ReportServer("prod", "web")
	wantRunning(s, "prod", "3 false", "web false changed by evidence non_compliant_in_trail non_compliant_attestation")
	s.Want(http.StatusOK, http.MethodPost, s.TrailPath("trail-of-web")+"/override",
		[]byte(`{"attestation_name":"tested","original_attestation_type":"generic","new_compliance_status":true,"reason":"Tested by hand"}`))
	s.ReportServer("prod", "web")
	wantRunning(s, "prod", "4 true", "web true became-compliant by evidence")
	if got := apitest.Lookup(t, s.Read(s.EnvironmentsPath()+"/prod"), "state"); got != true {
		t.Errorf("the state is %v", got)
	}
}

func TestPermittedArtifactGetsAndLosesItsVerdictByPolicies(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.StorePolicy("provenance", "provenance: {required: true}")
	s.Attach("prod", "provenance")
	s.AllowArtifact("prod", "web", "Legacy")
	s.ReportServer("prod", "web")
	detach(s, "prod", "provenance")
	wantRunning(s, "prod", "2 false", "web null changed by policies")
	s.Attach("prod", "provenance")
	wantRunning(s, "prod", "3 true", "web true became-compliant by policies")
}

// TestResolutionsSayWhichConditionCannotBeEvaluated compares a snapshot and an assert. What the rules ask for is there.
func TestResolutionsSayWhichConditionCannotBeEvaluated(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.ReportFile("build", "web")
	s.AttestGeneric("trail-of-web", "tested", true, "")
	s.Want(http.StatusOK, http.MethodPatch, s.TagsPath()+"/flow/build", []byte(`{"set_tags":{"num":"abc"}}`))
	s.StorePolicy("production", "provenance: {required: true, exceptions: [{if: '${{ flow.tags.num < 3 }}'}]}",
		"attestations: [{type: generic, name: tested}, {type: generic, name: tested, if: '${{ flow.tags.num < 3 }}'}]")
	s.Attach("prod", "production")
	s.ReportServer("prod", "web")
	decisions := s.GetSnapshot("prod", "-1").Artifact(t, "web")["policy_decisions"]
	for name, evaluation := range map[string]any{
		"snapshot": apitest.Lookup(t, decisions, 0), "assert": apitest.Lookup(t, s.Read(s.AssertPath("web", "?policy_name=production")), "policy_evaluations", 0),
	} {
		t.Run(name, func(t *testing.T) {
			for rule, kind := range map[int]string{0: "missing_provenance", 2: "rule_satisfied", 3: "missing_attestation"} {
				resolution := apitest.Lookup(t, evaluation, "rule_evaluations", rule, "resolutions", 0)
				text, failed := apitest.Lookup(t, resolution, "context").(map[string]any)["error"].(string)
				if apitest.Lookup(t, resolution, "type") != kind || failed != (rule != 2) || failed && !strings.HasPrefix(text, "the condition flow.tags.num < 3 cannot be evaluated: ") {
					t.Errorf("rule %d is resolved as %s", rule, apitest.AsJSON(resolution))
				}
			}
		})
	}
}

func TestEmptyEnvironmentWithPoliciesIsCompliant(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.StorePolicy("provenance", "provenance: {required: true}")
	s.Attach("prod", "provenance")
	s.ReportServer("prod")
	wantRunning(s, "prod", "1 true")
	detach(s, "prod", "provenance")
	wantRunning(s, "prod", "2 false")
}

func TestNewVersionOfAPolicyAppliesFromTheNextReport(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.StorePolicy("production", "provenance: {required: true}")
	s.Attach("prod", "production")
	s.ReportServer("prod", "web")
	s.StorePolicy("production", `provenance: {required: true, exceptions: [{if: "${{ matches(artifact.name, '/opt/') }}"}]}`)
	wantRunning(s, "prod", "1 false", "web false started-non-compliant missing_provenance")
	s.ReportServer("prod", "web")
	wantRunning(s, "prod", "2 true", "web true became-compliant by policies")
	applied := apitest.Lookup(t, s.Read("/snapshots/"+s.Org+"/prod/1"), "applied_policies", 0)
	apitest.WantMembers(t, applied, map[string]any{"version": 1.0, "failing_artifacts.0.name": "/opt/web"})
}

func TestSnapshotShowsPoliciesAsClientsReadThem(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.ReportFile("build", "web")
	s.CreateControl("R-1")
	s.StorePolicy("production", `provenance: {required: true, exceptions: [{if: "${{ flow.name == 'x' }}"}]}`, "trail-compliance: {required: true}",
		"attestations: [{type: decision, for_control: R-1}, {type: snyk, name: scan, if: \"${{ flow.name == 'build' }}\", must_be_compliant: false}]")
	s.Attach("prod", "production")
	s.ReportServer("prod", "web")
	body := s.Read("/snapshots/" + s.Org + "/prod/-1?explain=true")
	policy := apitest.Lookup(t, body, "applied_policies", 0)
	apitest.ClientReads(t, "applied_policy", policy)
	wantDump := `{"artifacts":{"attestations":[{"for_control":"R-1","if_condition":null,"must_be_compliant":true,"name":"*","type":"decision"},` +
		`{"for_control":null,"if_condition":{"text":"flow.name == 'build'"},"must_be_compliant":false,"name":"scan","type":"snyk"}],` +
		`"provenance":{"exceptions":[{"if_condition":{"text":"flow.name == 'x'"}}],"required":true},"trail_compliance":{"exceptions":[],"required":true}},"schema_version":"1"}`
	dump, err := json.Marshal(apitest.Lookup(t, policy, "policy_dump"))
	s.Must(err)
	apitest.Equal(t, string(dump), wantDump, "the policy")
	artifact := apitest.Lookup(t, body, "artifacts", 0)
	wantDecisions := `[{"policy_name":"production","policy_version":1,"rule_evaluations":[` +
		`{"ignored":false,"resolutions":[{"context":{"artifact_status":null,"flow_name":"build","trail_name":"trail-of-web"},"type":"rule_satisfied"}],` +
		`"rule":{"definition":{"exceptions":[{"if":{"text":"flow.name == 'x'"}}],"required":true},"type":"provenance"},"satisfied":true},` +
		`{"ignored":false,"resolutions":[{"context":{"artifact_status":"COMPLIANT","flow_name":"build","trail_name":"trail-of-web"},"type":"rule_satisfied"}],` +
		`"rule":{"definition":{"exceptions":[],"required":true},"type":"trail-compliance"},"satisfied":true},` +
		`{"ignored":false,"resolutions":[{"context":{"artifact_status":null,"attestation_name":"*","attestation_type":"decision","flow_name":"build","for_control":"R-1","trail_name":"trail-of-web"},"type":"missing_attestation"}],` +
		`"rule":{"definition":{"for_control":"R-1","if":null,"must_be_compliant":true,"name":"*","type":"decision"},"type":"attestation"},"satisfied":false},` +
		`{"ignored":false,"resolutions":[{"context":{"artifact_status":null,"attestation_name":"scan","attestation_type":"snyk","flow_name":"build","trail_name":"trail-of-web"},"type":"missing_attestation"}],` +
		`"rule":{"definition":{"for_control":null,"if":{"text":"flow.name == 'build'"},"must_be_compliant":false,"name":"scan","type":"snyk"},"type":"attestation"},"satisfied":false}],"status":"NON-COMPLIANT"}]`
	decisions, err := json.Marshal(apitest.Lookup(t, artifact, "policy_decisions"))
	s.Must(err)
	apitest.Equal(t, string(decisions), wantDecisions, "the decisions")
	if got := apitest.Lookup(t, artifact, "flows", 0, "flow_reasons_for_non_compliance").([]any); len(got) != 2 {
		t.Errorf("the reasons of the flow are %s", apitest.AsJSON(got))
	}
	explanation := apitest.Lookup(t, artifact, "explanation").([]any)
	if len(explanation) != 2 || apitest.Lookup(t, explanation[0], "text") != "There is no decision on control 'R-1' for the artifact or one of its trails." ||
		apitest.Lookup(t, explanation[1], "remedy") != "Record an attestation 'scan' of type snyk for the artifact or its trail 'trail-of-web' in flow 'build'." {
		t.Errorf("it is explained by %s", apitest.AsJSON(explanation))
	}
	if _, ok := apitest.Lookup(t, s.Read("/snapshots/"+s.Org+"/prod/-1"), "artifacts", 0).(map[string]any)["explanation"]; ok {
		t.Error("it is explained without the parameter explain")
	}
}

func TestDetachingEvaluatesAgainWhileAWorkerMayEvaluateWithThePolicy(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{WithoutWorker: true, Settings: []string{"ATTESTRY_REPORT_WAIT=1ms"}})
	s.PutPolicy(http.StatusCreated, `{"name":"guard"}`, apitest.PolicyFile(apitest.PolicyHead))
	store, requested := s.Process.Store, map[string]bool{}
	for environment, holder := range map[string]string{"idle": "", "busy": "a worker"} {
		s.CreateEnvironment(environment, evidence.Server)
		id := s.EnvironmentID(environment)
		_, err := storage.Upsert(t.Context(), store.Heads.Collection, snapshot.Head{Environment: id}, storage.WithoutError(func(head *snapshot.Head) {
			head.Lease.Holder = holder
		}))
		s.Must(err)
		// The last snapshot was not evaluated with the policy.
		detach(s, environment, "guard")
		requested[environment], err = store.Reports.Exists(t.Context(), id, 1)
		s.Must(err)
	}
	if requested["idle"] || !requested["busy"] {
		t.Errorf("evaluations are requested for %v", requested)
	}
}
