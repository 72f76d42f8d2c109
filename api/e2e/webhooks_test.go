package e2e_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"attestry/evidence"
	"attestry/evidence/identity"
)

const (
	// hookSecret is the secret of all inbound webhooks of tests. hookUIDPart is a part of all of their uids.
	hookSecret  = "secret-of-the-inbound-webhooks"
	hookUIDPart = "-hook-of-"
	hookRefused = "The address or the signature of the webhook is not valid"
)

// hookUID returns the uid of an inbound webhook of the test's organization.
func (s *service) hookUID(kind string) evidence.Secret {
	return evidence.Secret(kind + hookUIDPart + s.org)
}

// sign returns the signature of a body.
func sign(body []byte) string {
	sum := hmac.New(sha256.New, []byte(hookSecret))
	sum.Write(body)
	return hex.EncodeToString(sum.Sum(nil))
}

// deliver calls an inbound webhook. It sends no signature header if the signature is "".
func (s *service) deliver(kind, uid, signature string, body []byte) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL+"/api/v2/webhooks/"+kind+"/"+uid, bytes.NewReader(body))
	s.must(err)
	if signature != "" {
		request.Header.Set(map[string]string{"sonar": "X-Sonar-Webhook-HMAC-SHA256", "launch-darkly": "X-LD-Signature"}[kind], signature)
	}
	return s.send(request)
}

// wantDelivered calls an inbound webhook of the test's organization with a signature. It must be accepted.
func (s *service) wantDelivered(kind, body string) {
	s.t.Helper()
	got := s.deliver(kind, s.hookUID(kind).Reveal(), sign([]byte(body)), []byte(body))
	if got.status != http.StatusOK || got.text(s.t) != "OK" {
		s.t.Fatalf("%s is answered %d: %s", body, got.status, got.body)
	}
}

// analysis returns a webhook body of SonarQube. Further members begin with a comma.
func analysis(more string) string {
	return fmt.Sprintf(`{"serverUrl":"https://sonar.example.com","taskId":"AX1","status":"SUCCESS","analysedAt":"2026-11-02T10:02:11+0000",
		"changedAt":"2026-11-02T10:02:11+0000","revision":%q,"project":{"key":"acme:web app","name":"Web","url":"https://sonar.example.com/web"},
		"branch":{"name":"main","type":"BRANCH","isMain":true,"url":"https://sonar.example.com/web"}%s}`, firstCommit, more)
}

func gate(status string) string {
	return fmt.Sprintf(`,"qualityGate":{"name":"way","status":%q,"conditions":[{"metric":"new_coverage","operator":"LESS_THAN","value":"7","status":%q,"errorThreshold":"80"}]}`, status, status)
}

func properties(members string) string { return `,"properties":{` + members + `}` }

// sonarAttestation reads the newest attestation of a name on a trail.
func (s *service) sonarAttestation(flow, trail, name string) any {
	s.t.Helper()
	list := s.listAttestations("/attestations/" + s.org + "/" + flow + "/trail/" + trail + "/" + name)
	if len(list) == 0 {
		s.t.Fatalf("%s/%s has no attestation %s", flow, trail, name)
	}
	return list[0]
}

func TestSonarWebhookRecordsAnAttestation(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.wantDelivered("sonar", analysis(gate("OK")))
	got := s.sonarAttestation("acme-web-app", firstCommit, "sonar")
	for member, want := range map[string]any{
		"attestation_type": "sonar", "is_compliant": true, "reported_by": "sonar-webhook",
	} {
		if value := lookup(t, got, member); value != want {
			t.Errorf("%s is %v, want %v", member, value, want)
		}
	}
	if value := lookup(t, got, "git_commit_info", "sha1"); value != firstCommit {
		t.Errorf("the commit is %v", value)
	}
	var sent any
	answer{body: []byte(analysis(gate("OK")))}.decode(t, &sent)
	if results := lookup(t, got, "sonar_results"); !reflect.DeepEqual(results, sent) {
		t.Errorf("kept %v, sent %v", results, sent)
	}
	if state := lookup(t, s.getTrail("acme-web-app", firstCommit), "compliance_state"); state != "COMPLIANT" {
		t.Errorf("the trail is %v", state)
	}
	s.wantDelivered("sonar", analysis(gate("ERROR")))
	list := s.listAttestations("/attestations/" + s.org + "/acme-web-app/trail/" + firstCommit + "/sonar")
	if column(t, list, "is_compliant") != "false true" {
		t.Errorf("recorded %v", list)
	}
	if got := lookup(t, list, 0, "finding"); got != "quality gate ERROR for project acme:web app: new_coverage is 7 (LESS_THAN 80)" {
		t.Errorf("the finding is %q", got)
	}
}

func TestSonarWebhookIsRecordedWhereTheScanSays(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.reportArtifact("build", "release", "api", attestedFingerprint, firstCommit)
	for name, c := range map[string]struct {
		body, flow, trail, attestation, member string
		want                                   any
	}{
		"flow and trail": {analysis(gate("OK") + properties(`"sonar.analysis.kosli_flow":"my-flow","sonar.analysis.kosli_trail":"my-trail","sonar.analysis.x":"y"`)),
			"my-flow", "my-trail", "sonar", "is_compliant", true},
		"attestation": {analysis(properties(`"sonar.analysis.kosli_attestation":"scan"`)),
			"acme-web-app", firstCommit, "scan", "is_compliant", false},
		"artifact by name": {analysis(gate("WARN") + properties(`"sonar.analysis.kosli_flow":"build","sonar.analysis.kosli_trail":"release","sonar.analysis.kosli_attestation":"api.scan"`)),
			"build", "release", "scan", "target_artifacts", []any{"api"}},
		"artifact by fingerprint": {analysis(properties(`"sonar.analysis.kosli_flow":"build","sonar.analysis.kosli_trail":"release",
			"sonar.analysis.kosli_attestation":"code","sonar.analysis.kosli_artifact_fingerprint":"` + attestedFingerprint + `"`)),
			"build", "release", "code", "artifact_fingerprint", attestedFingerprint},
		"another kind of revision": {strings.Replace(analysis(gate("OK")), firstCommit, "r17/trunk", 1),
			"acme-web-app", "r17-trunk", "sonar", "git_commit_info", nil},
		"null members": {`{"revision":"r18","project":{"key":"-.k"},"branch":null,"qualityGate":null,"properties":null}`,
			"k", "r18", "sonar", "is_compliant", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			s.wantDelivered("sonar", c.body)
			if got := lookup(t, s.sonarAttestation(c.flow, c.trail, c.attestation), c.member); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s is %v, want %v", c.member, got, c.want)
			}
		})
	}
}

func TestSonarWebhookAddsPrefixAndSuffixToFlowNames(t *testing.T) {
	t.Parallel()
	s := share(t)
	uid := "prefixed" + hookUIDPart + s.org
	_, err := s.Process.Store.Tenancy.ApplyBootstrap(t.Context(), identity.Bootstrap{Organizations: []identity.DeclaredOrganization{
		{Name: s.org, Hooks: []identity.DeclaredHook{
			{Kind: identity.SonarHook, UID: evidence.Secret(uid), Secret: hookSecret, FlowPrefix: "sonar.", FlowSuffix: "-ci"},
		}},
	}})
	s.must(err)
	body := []byte(analysis(""))
	if got := s.deliver("sonar", uid, sign(body), body); got.status != http.StatusOK {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	s.sonarAttestation("sonar.acme-web-app-ci", firstCommit, "sonar")
	// The webhook that is no longer declared is closed.
	wantProblem(t, s.deliver("sonar", s.hookUID("sonar").Reveal(), sign(body), body), http.StatusUnauthorized, hookRefused, nil)
}

// change returns a webhook body of LaunchDarkly about a flag.
func change(name, description string, resources ...string) string {
	return fmt.Sprintf(`{"_id":"65","kind":"flag","name":%q,"description":%q,"date":1793613000000,"target":{"name":%q,"resources":["%s"]},
		"member":{"email":"anna@example.com"}}`, name, description, name, strings.Join(resources, `","`))
}

func TestLaunchDarklyWebhookRecordsATrail(t *testing.T) {
	t.Parallel()
	s := share(t)
	on := change("New checkout!", "turned on", "proj/default:env/production;prod:flag/new-checkout;a,b")
	s.wantDelivered("launch-darkly", on)
	trail := s.getTrail("launch-darkly-production", "New-checkout-")
	var sent any
	answer{body: []byte(on)}.decode(t, &sent)
	for member, want := range map[string]any{"description": "turned on", "user_data": sent, "created_by": "launch-darkly-webhook"} {
		if got := lookup(t, trail, member); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v", member, got, want)
		}
	}
	wantEvents := func(want string) {
		t.Helper()
		if got := column(t, lookup(t, s.getTrail("launch-darkly-production", "New-checkout-"), "events"), "type"); got != want {
			t.Errorf("events %s, want %s", got, want)
		}
	}
	s.wantDelivered("launch-darkly", on)
	wantEvents("trail_reported")
	s.wantDelivered("launch-darkly", change("New checkout!", "turned off", "proj/default:env/production:flag/new-checkout"))
	wantEvents("trail_reported trail_updated")
	s.wantDelivered("launch-darkly", strings.Replace(change("New checkout!", "turned off", "proj/default:env/production:flag/new-checkout"), `"description":"turned off",`, "", 1))
	if got := lookup(t, s.getTrail("launch-darkly-production", "New-checkout-"), "description"); got != "" {
		t.Errorf("a change without a description leaves %q", got)
	}
	s.wantDelivered("launch-darkly", change("§", "", "proj/default:env/test:flag/the-key", "proj/default:env/qa:flag/the-key", "proj/default:env/*:flag/the-key"))
	for _, flow := range []string{"launch-darkly-test", "launch-darkly-qa"} {
		s.getTrail(flow, "the-key")
	}
	if got := len(s.listFlows("")); got != 3 {
		t.Errorf("%d flows, want 3", got)
	}
}

func TestLaunchDarklyWebhookIgnoresEventsWithoutAFlag(t *testing.T) {
	t.Parallel()
	s := share(t)
	for _, target := range []string{`{"resources":["proj/default"]}`, `{"resources":null}`, "null"} {
		s.wantDelivered("launch-darkly", `{"kind":"project","name":"p","target":`+target+`}`)
	}
	s.wantDelivered("launch-darkly", `{"kind":"flag","name":"f"}`)
	s.wantDelivered("launch-darkly", `{"kind":"token","name":"t","target":{}}`)
	s.wantDelivered("launch-darkly", change("f", "", "proj/default:env/*:flag/f"))
	s.wantDelivered("launch-darkly", change("f", "", "proj/default:flag/f", "", "/:/"))
	if got := s.listFlows(""); len(got) != 0 {
		t.Errorf("recorded %v", got)
	}
}

func TestWebhooksThatAreNotSignedRecordNothing(t *testing.T) {
	t.Parallel()
	s := share(t)
	sonar, flag := []byte(analysis("")), []byte(change("f", "", "proj/default:env/prod:flag/f"))
	for name, c := range map[string]struct {
		kind, uid, signature string
		body                 []byte
	}{
		"no signature":              {"sonar", s.hookUID("sonar").Reveal(), "", sonar},
		"no hex":                    {"sonar", s.hookUID("sonar").Reveal(), "x", sonar},
		"a part of the signature":   {"sonar", s.hookUID("sonar").Reveal(), sign(sonar)[:32], sonar},
		"of another body":           {"sonar", s.hookUID("sonar").Reveal(), sign(flag), sonar},
		"of a body without a blank": {"sonar", s.hookUID("sonar").Reveal(), sign(sonar), append([]byte(" "), sonar...)},
		"a body that is not JSON":   {"sonar", s.hookUID("sonar").Reveal(), sign(sonar), []byte(`{`)},
		"unknown uid":               {"sonar", "a-uid-that-nobody-has", sign(sonar), sonar},
		"uid of another kind":       {"sonar", s.hookUID("launch-darkly").Reveal(), sign(sonar), sonar},
		"a key for the uid":         {"sonar", adminKey, sign(sonar), sonar},
		"flag without signature":    {"launch-darkly", s.hookUID("launch-darkly").Reveal(), "", flag},
		"flag to the other kind":    {"launch-darkly", s.hookUID("sonar").Reveal(), sign(flag), flag},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			wantProblem(t, s.deliver(c.kind, c.uid, c.signature, c.body), http.StatusUnauthorized, hookRefused, nil)
		})
	}
	if got := s.listFlows(""); len(got) != 0 {
		t.Errorf("recorded %v", got)
	}
}

func TestInvalidSignedWebhooksRecordNothing(t *testing.T) {
	t.Parallel()
	s := share(t)
	const invalid = "Input payload validation failed"
	namePattern := "String should match pattern '^[a-zA-Z0-9][a-zA-Z0-9\\-_.~]*$' [input: "
	var many []string
	for i := range 101 {
		many = append(many, fmt.Sprintf("proj/p:env/e%d:flag/f", i))
	}
	for name, c := range map[string]struct {
		kind, body string
		errors     map[string]string
	}{
		"no project":    {"sonar", `{"revision":"r"}`, map[string]string{"project": "Field required [input: None]"}},
		"no revision":   {"sonar", `{"project":{"key":"k"}}`, map[string]string{"revision": namePattern + "]"}},
		"no usable key": {"sonar", `{"revision":"r","project":{"key":"::"}}`, map[string]string{"project.key": namePattern + "]"}},
		"key is too long": {"sonar", `{"revision":"r","project":{"key":"` + strings.Repeat("k", 256) + `"}}`,
			map[string]string{"project.key": "String should have at most 255 characters [input: " + strings.Repeat("k", 200) + "...]"}},
		"wrong names": {"sonar", analysis(properties(`"sonar.analysis.kosli_flow":"a b","sonar.analysis.kosli_trail":"/","sonar.analysis.kosli_attestation":"x y"`)),
			map[string]string{
				"properties.sonar.analysis.kosli_flow": namePattern + "a b]", "properties.sonar.analysis.kosli_trail": namePattern + "/]",
				"properties.sonar.analysis.kosli_attestation": "String should match pattern '^[a-zA-Z0-9\\-_,]+$' [input: x y]",
			}},
		"wrong fingerprint": {"sonar", analysis(properties(`"sonar.analysis.kosli_artifact_fingerprint":"abc"`)),
			map[string]string{"properties.sonar.analysis.kosli_artifact_fingerprint": "String should match pattern '^[a-f0-9]{64}$' [input: abc]"}},
		"property is a number": {"sonar", analysis(properties(`"sonar.analysis.kosli_flow":1`)),
			map[string]string{"properties.sonar.analysis.kosli_flow": "Input should be a valid string [input: 1]"}},
		"no kind": {"launch-darkly", `{"name":"f","target":{"resources":[]}}`, map[string]string{"kind": "Field required [input: None]"}},
		"flag name is too long": {"launch-darkly", change(strings.Repeat("f", 256), "", "proj/p:env/e:flag/f"),
			map[string]string{"name": "String should have at most 255 characters [input: " + strings.Repeat("f", 200) + "...]"}},
		"many environments": {"launch-darkly", change("f", "", many...),
			map[string]string{"target.resources": "There should be at most 100 environments [input: 101]"}},
		"no object": {"launch-darkly", `[]`, map[string]string{"body": "Input should be a valid dictionary or object to extract fields from [input: []]"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			got := s.deliver(c.kind, s.hookUID(c.kind).Reveal(), sign([]byte(c.body)), []byte(c.body))
			wantProblem(t, got, http.StatusBadRequest, invalid, c.errors)
		})
	}
	unknown := analysis(properties(`"sonar.analysis.kosli_flow":"f","sonar.analysis.kosli_trail":"t","sonar.analysis.kosli_artifact_fingerprint":"` + attestedFingerprint + `"`))
	got := s.deliver("sonar", s.hookUID("sonar").Reveal(), sign([]byte(unknown)), []byte(unknown))
	wantProblem(t, got, http.StatusNotFound, fmt.Sprintf(
		`Artifact with fingerprint %s does not exist in trail "t" of flow "f" belonging to organization "%s"`, attestedFingerprint, s.org), nil)
	if got := s.listFlows(""); len(got) != 0 {
		t.Errorf("recorded %v", got)
	}
}

func TestWebhooksOfOneOrganizationRecordNothingInAnother(t *testing.T) {
	t.Parallel()
	ours, theirs := share(t), share(t)
	ours.wantDelivered("sonar", analysis(""))
	if got := len(ours.listFlows("")); got != 1 {
		t.Errorf("we have %d flows", got)
	}
	if got := theirs.listFlows(""); len(got) != 0 {
		t.Errorf("they have %v", got)
	}
}

func TestConcurrentDeliveriesAreAllRecorded(t *testing.T) {
	t.Parallel()
	s := share(t)
	const deliveries = 8
	var group sync.WaitGroup
	for range deliveries {
		group.Go(func() {
			body := []byte(analysis(gate("OK")))
			if got := s.deliver("sonar", s.hookUID("sonar").Reveal(), sign(body), body); got.status != http.StatusOK {
				t.Errorf("status %d: %s", got.status, got.body)
			}
		})
	}
	group.Wait()
	if got := len(s.listAttestations("/attestations/" + s.org + "/acme-web-app/trail/" + firstCommit + "/sonar")); got != deliveries {
		t.Errorf("%d attestations, want %d", got, deliveries)
	}
}
