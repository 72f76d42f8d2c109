package webhooks_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence"
	"attestry/evidence/identity"
)

// wantDelivered calls an inbound webhook of the test's organization with a signature. It must be accepted.
func wantDelivered(s *apitest.Service, kind, body string) {
	s.T.Helper()
	got := s.Deliver(kind, s.HookUID(kind).Reveal(), apitest.SignHook([]byte(body)), []byte(body))
	if got.Status != http.StatusOK || got.Text(s.T) != "OK" {
		s.T.Fatalf("%s is answered %d: %s", body, got.Status, got.Body)
	}
}

func properties(members string) string { return `,"properties":{` + members + `}` }

// sonarAttestation reads the newest attestation of a name on a trail.
func sonarAttestation(s *apitest.Service, flow, trail, name string) any {
	s.T.Helper()
	list := s.ListAttestations("/attestations/" + s.Org + "/" + flow + "/trail/" + trail + "/" + name)
	if len(list) == 0 {
		s.T.Fatalf("%s/%s has no attestation %s", flow, trail, name)
	}
	return list[0]
}

func TestSonarWebhookRecordsAnAttestation(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	wantDelivered(s, "sonar", apitest.SonarAnalysis(apitest.QualityGate("OK")))
	got := sonarAttestation(s, "acme-web-app", apitest.FirstCommit, "sonar")
	apitest.WantMembers(t, got, map[string]any{
		"attestation_type": "sonar", "is_compliant": true, "reported_by": "sonar-webhook",
	})
	if value := apitest.Lookup(t, got, "git_commit_info", "sha1"); value != apitest.FirstCommit {
		t.Errorf("the commit is %v", value)
	}
	var sent any
	apitest.Answer{Body: []byte(apitest.SonarAnalysis(apitest.QualityGate("OK")))}.Decode(t, &sent)
	if results := apitest.Lookup(t, got, "sonar_results"); !reflect.DeepEqual(results, sent) {
		t.Errorf("kept %v, sent %v", results, sent)
	}
	if state := apitest.Lookup(t, s.GetTrail("acme-web-app", apitest.FirstCommit), "compliance_state"); state != "COMPLIANT" {
		t.Errorf("the trail is %v", state)
	}
	wantDelivered(s, "sonar", apitest.SonarAnalysis(apitest.QualityGate("ERROR")))
	list := s.ListAttestations("/attestations/" + s.Org + "/acme-web-app/trail/" + apitest.FirstCommit + "/sonar")
	apitest.Equal(t, apitest.Column(t, list, "is_compliant"), "false true", list)
	if got := apitest.Lookup(t, list, 0, "finding"); got != "quality gate ERROR for project acme:web app: new_coverage is 7 (LESS_THAN 80)" {
		t.Errorf("the finding is %q", got)
	}
}

func TestSonarWebhookIsRecordedWhereTheScanSays(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.ReportArtifact("build", "release", "api", apitest.AttestedFingerprint, apitest.FirstCommit)
	type testCase struct {
		body, flow, trail, attestation, member string
		want                                   any
	}
	apitest.Each(s, map[string]testCase{
		"flow and trail": {apitest.SonarAnalysis(apitest.QualityGate("OK") + properties(`"sonar.analysis.kosli_flow":"my-flow","sonar.analysis.kosli_trail":"my-trail","sonar.analysis.x":"y"`)),
			"my-flow", "my-trail", "sonar", "is_compliant", true},
		"attestation": {apitest.SonarAnalysis(properties(`"sonar.analysis.kosli_attestation":"scan"`)),
			"acme-web-app", apitest.FirstCommit, "scan", "is_compliant", false},
		"artifact by name": {apitest.SonarAnalysis(apitest.QualityGate("WARN") + properties(`"sonar.analysis.kosli_flow":"build","sonar.analysis.kosli_trail":"release","sonar.analysis.kosli_attestation":"api.scan"`)),
			"build", "release", "scan", "target_artifacts", []any{"api"}},
		"artifact by fingerprint": {apitest.SonarAnalysis(properties(`"sonar.analysis.kosli_flow":"build","sonar.analysis.kosli_trail":"release",
			"sonar.analysis.kosli_attestation":"code","sonar.analysis.kosli_artifact_fingerprint":"` + apitest.AttestedFingerprint + `"`)),
			"build", "release", "code", "artifact_fingerprint", apitest.AttestedFingerprint},
		"another kind of revision": {strings.Replace(apitest.SonarAnalysis(apitest.QualityGate("OK")), apitest.FirstCommit, "r17/trunk", 1),
			"acme-web-app", "r17-trunk", "sonar", "git_commit_info", nil},
		"null members": {`{"revision":"r18","project":{"key":"-.k"},"branch":null,"qualityGate":null,"properties":null}`,
			"k", "r18", "sonar", "is_compliant", false},
	}, func(s *apitest.Service, _ string, c testCase) {
		wantDelivered(s, "sonar", c.body)
		got := apitest.Lookup(s.T, sonarAttestation(s, c.flow, c.trail, c.attestation), c.member)
		if !reflect.DeepEqual(got, c.want) {
			s.T.Errorf("%s is %v, want %v", c.member, got, c.want)
		}
	})
}

func TestSonarWebhookAddsPrefixAndSuffixToFlowNames(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	uid := "prefixed" + apitest.HookUIDPart + s.Org
	_, err := s.Process.Store.Tenancy.ApplyBootstrap(t.Context(), identity.Bootstrap{Organizations: []identity.DeclaredOrganization{
		{Name: s.Org, Hooks: []identity.DeclaredHook{
			{Kind: identity.SonarHook, UID: evidence.Secret(uid), Secret: apitest.HookSecret, FlowPrefix: "sonar.", FlowSuffix: "-ci"},
		}},
	}})
	s.Must(err)
	body := []byte(apitest.SonarAnalysis(""))
	if got := s.Deliver("sonar", uid, apitest.SignHook(body), body); got.Status != http.StatusOK {
		t.Fatalf("status %d: %s", got.Status, got.Body)
	}
	sonarAttestation(s, "sonar.acme-web-app-ci", apitest.FirstCommit, "sonar")
	// The webhook that is no longer declared is closed.
	apitest.WantProblem(t, s.Deliver("sonar", s.HookUID("sonar").Reveal(), apitest.SignHook(body), body), http.StatusUnauthorized, apitest.HookRefused, nil)
}

// change returns a webhook body of LaunchDarkly about a flag.
func change(name, description string, resources ...string) string {
	return fmt.Sprintf(`{"_id":"65","kind":"flag","name":%q,"description":%q,"date":1793613000000,"target":{"name":%q,"resources":["%s"]},
		"member":{"email":"anna@example.com"}}`, name, description, name, strings.Join(resources, `","`))
}

func TestLaunchDarklyWebhookRecordsATrail(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	on := change("New checkout!", "turned on", "proj/default:env/production;prod:flag/new-checkout;a,b")
	wantDelivered(s, "launch-darkly", on)
	trail := s.GetTrail("launch-darkly-production", "New-checkout-")
	var sent any
	apitest.Answer{Body: []byte(on)}.Decode(t, &sent)
	for member, want := range map[string]any{"description": "turned on", "user_data": sent, "created_by": "launch-darkly-webhook"} {
		if got := apitest.Lookup(t, trail, member); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v", member, got, want)
		}
	}
	wantEvents := func(want string) {
		t.Helper()
		if got := apitest.Column(t, apitest.Lookup(t, s.GetTrail("launch-darkly-production", "New-checkout-"), "events"), "type"); got != want {
			t.Errorf("events %s, want %s", got, want)
		}
	}
	wantDelivered(s, "launch-darkly", on)
	wantEvents("trail_reported")
	wantDelivered(s, "launch-darkly", change("New checkout!", "turned off", "proj/default:env/production:flag/new-checkout"))
	wantEvents("trail_reported trail_updated")
	wantDelivered(s, "launch-darkly", strings.Replace(change("New checkout!", "turned off", "proj/default:env/production:flag/new-checkout"), `"description":"turned off",`, "", 1))
	if got := apitest.Lookup(t, s.GetTrail("launch-darkly-production", "New-checkout-"), "description"); got != "" {
		t.Errorf("a change without a description leaves %q", got)
	}
	wantDelivered(s, "launch-darkly", change("§", "", "proj/default:env/test:flag/the-key", "proj/default:env/qa:flag/the-key", "proj/default:env/*:flag/the-key"))
	for _, flow := range []string{"launch-darkly-test", "launch-darkly-qa"} {
		s.GetTrail(flow, "the-key")
	}
	apitest.Equal(t, len(s.ListFlows("")), 3, "flows")
}

func TestLaunchDarklyWebhookIgnoresEventsWithoutAFlag(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	for _, target := range []string{`{"resources":["proj/default"]}`, `{"resources":null}`, "null"} {
		wantDelivered(s, "launch-darkly", `{"kind":"project","name":"p","target":`+target+`}`)
	}
	wantDelivered(s, "launch-darkly", `{"kind":"flag","name":"f"}`)
	wantDelivered(s, "launch-darkly", `{"kind":"token","name":"t","target":{}}`)
	wantDelivered(s, "launch-darkly", change("f", "", "proj/default:env/*:flag/f"))
	wantDelivered(s, "launch-darkly", change("f", "", "proj/default:flag/f", "", "/:/"))
	apitest.Equal(t, len(s.ListFlows("")), 0, "recorded")
}

func TestWebhooksThatAreNotSignedRecordNothing(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	sonar, flag := []byte(apitest.SonarAnalysis("")), []byte(change("f", "", "proj/default:env/prod:flag/f"))
	type testCase struct {
		kind, uid, signature string
		body                 []byte
	}
	apitest.Each(s, map[string]testCase{
		"no signature":              {"sonar", s.HookUID("sonar").Reveal(), "", sonar},
		"no hex":                    {"sonar", s.HookUID("sonar").Reveal(), "x", sonar},
		"a part of the signature":   {"sonar", s.HookUID("sonar").Reveal(), apitest.SignHook(sonar)[:32], sonar},
		"of another body":           {"sonar", s.HookUID("sonar").Reveal(), apitest.SignHook(flag), sonar},
		"of a body without a blank": {"sonar", s.HookUID("sonar").Reveal(), apitest.SignHook(sonar), append([]byte(" "), sonar...)},
		"a body that is not JSON":   {"sonar", s.HookUID("sonar").Reveal(), apitest.SignHook(sonar), []byte(`{`)},
		"unknown uid":               {"sonar", "a-uid-that-nobody-has", apitest.SignHook(sonar), sonar},
		"uid of another kind":       {"sonar", s.HookUID("launch-darkly").Reveal(), apitest.SignHook(sonar), sonar},
		"a key for the uid":         {"sonar", apitest.AdminKey, apitest.SignHook(sonar), sonar},
		"flag without signature":    {"launch-darkly", s.HookUID("launch-darkly").Reveal(), "", flag},
		"flag to the other kind":    {"launch-darkly", s.HookUID("sonar").Reveal(), apitest.SignHook(flag), flag},
	}, func(s *apitest.Service, _ string, c testCase) {
		apitest.WantProblem(s.T, s.Deliver(c.kind, c.uid, c.signature, c.body), http.StatusUnauthorized, apitest.HookRefused,
			nil)
	})
	apitest.Equal(t, len(s.ListFlows("")), 0, "recorded")
}

func TestInvalidSignedWebhooksRecordNothing(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	const invalid = "Input payload validation failed"
	namePattern := "String should match pattern '^[a-zA-Z0-9][a-zA-Z0-9\\-_.~]*$' [input: "
	var many []string
	for i := range 101 {
		many = append(many, fmt.Sprintf("proj/p:env/e%d:flag/f", i))
	}
	type testCase struct {
		kind, body string
		errors     map[string]string
	}
	apitest.Each(s, map[string]testCase{
		"no project":    {"sonar", `{"revision":"r"}`, map[string]string{"project": "Field required [input: None]"}},
		"no revision":   {"sonar", `{"project":{"key":"k"}}`, map[string]string{"revision": namePattern + "]"}},
		"no usable key": {"sonar", `{"revision":"r","project":{"key":"::"}}`, map[string]string{"project.key": namePattern + "]"}},
		"key is too long": {"sonar", `{"revision":"r","project":{"key":"` + strings.Repeat("k", 256) + `"}}`,
			map[string]string{"project.key": "String should have at most 255 characters [input: " + strings.Repeat("k", 200) + "...]"}},
		"wrong names": {"sonar", apitest.SonarAnalysis(properties(`"sonar.analysis.kosli_flow":"a b","sonar.analysis.kosli_trail":"/","sonar.analysis.kosli_attestation":"x y"`)),
			map[string]string{
				"properties.sonar.analysis.kosli_flow": namePattern + "a b]", "properties.sonar.analysis.kosli_trail": namePattern + "/]",
				"properties.sonar.analysis.kosli_attestation": "String should match pattern '^[a-zA-Z0-9\\-_,]+$' [input: x y]",
			}},
		"wrong fingerprint": {"sonar", apitest.SonarAnalysis(properties(`"sonar.analysis.kosli_artifact_fingerprint":"abc"`)),
			map[string]string{"properties.sonar.analysis.kosli_artifact_fingerprint": "String should match pattern '^[a-f0-9]{64}$' [input: abc]"}},
		"property is a number": {"sonar", apitest.SonarAnalysis(properties(`"sonar.analysis.kosli_flow":1`)),
			map[string]string{"properties.sonar.analysis.kosli_flow": "Input should be a valid string [input: 1]"}},
		"no kind": {"launch-darkly", `{"name":"f","target":{"resources":[]}}`, map[string]string{"kind": "Field required [input: None]"}},
		"flag name is too long": {"launch-darkly", change(strings.Repeat("f", 256), "", "proj/p:env/e:flag/f"),
			map[string]string{"name": "String should have at most 255 characters [input: " + strings.Repeat("f", 200) + "...]"}},
		"many environments": {"launch-darkly", change("f", "", many...),
			map[string]string{"target.resources": "There should be at most 100 environments [input: 101]"}},
		"no object": {"launch-darkly", `[]`, map[string]string{"body": "Input should be a valid dictionary or object to extract fields from [input: []]"}},
	}, func(s *apitest.Service, _ string, c testCase) {
		got := s.Deliver(c.kind, s.HookUID(c.kind).Reveal(), apitest.SignHook([]byte(c.body)), []byte(c.body))
		apitest.WantProblem(s.T, got, http.StatusBadRequest, invalid, c.errors)
	})
	unknown := apitest.SonarAnalysis(properties(`"sonar.analysis.kosli_flow":"f","sonar.analysis.kosli_trail":"t","sonar.analysis.kosli_artifact_fingerprint":"` + apitest.AttestedFingerprint + `"`))
	got := s.Deliver("sonar", s.HookUID("sonar").Reveal(), apitest.SignHook([]byte(unknown)), []byte(unknown))
	apitest.WantProblem(t, got, http.StatusNotFound, fmt.Sprintf(
		`Artifact with fingerprint %s does not exist in trail "t" of flow "f" belonging to organization "%s"`, apitest.AttestedFingerprint, s.Org), nil)
	apitest.Equal(t, len(s.ListFlows("")), 0, "recorded")
}

func TestWebhooksOfOneOrganizationRecordNothingInAnother(t *testing.T) {
	t.Parallel()
	ours, theirs := apitest.Share(t), apitest.Share(t)
	wantDelivered(ours, "sonar", apitest.SonarAnalysis(""))
	apitest.Equal(t, len(ours.ListFlows("")), 1, "we have flows")
	apitest.Equal(t, len(theirs.ListFlows("")), 0)
}

func TestConcurrentDeliveriesAreAllRecorded(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	const deliveries = 8
	var group sync.WaitGroup
	for range deliveries {
		group.Go(func() {
			body := []byte(apitest.SonarAnalysis(apitest.QualityGate("OK")))
			apitest.WantAnswer(t, s.Deliver("sonar", s.HookUID("sonar").Reveal(), apitest.SignHook(body), body), http.StatusOK)
		})
	}
	group.Wait()
	if got := len(s.ListAttestations("/attestations/" + s.Org + "/acme-web-app/trail/" + apitest.FirstCommit + "/sonar")); got != deliveries {
		t.Errorf("%d attestations, want %d", got, deliveries)
	}
}
