package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/attestation"
	"attestry/evidence/attestation/attestationtest"
	"attestry/evidence/audit"
	"attestry/evidence/evidencetest"
)

// attested returns the member of a compliant attestation of a type.
func attested(t *testing.T, kind string, version int, payload map[string]json.RawMessage) []byte {
	t.Helper()
	content, err := audit.Encode(audit.NewAttestationDocument(evidence.Attestation{
		ID: "a", Name: "check", Type: kind, TypeVersion: version, Compliant: true, Payload: payload,
	}, ""))
	evidencetest.Must(t, err)
	return content
}

// findingsOf returns the findings about attestation a, and the result. If there are rules, its custom type has them.
func findingsOf(t *testing.T, verifier *audit.Verifier, content []byte, rules ...string) ([]audit.Finding, audit.Result) {
	t.Helper()
	add := func(path string, content []byte) {
		evidencetest.Must(t, verifier.Add(path, int64(len(content)), bytes.NewReader(content)))
	}
	add(audit.AttestationPath("a"), content)
	if len(rules) > 0 {
		document, err := audit.Encode(audit.TypeDocument{SchemaVersion: 1, Name: "scan", Version: 1, Rules: rules})
		evidencetest.Must(t, err)
		add(audit.TypePath("scan", 1), document)
	}
	result := verifier.Finish()
	return slices.DeleteFunc(result.Findings, func(f audit.Finding) bool { return f.Member != audit.AttestationPath("a") }), result
}

func TestOnlyMembersThatTheRuleReadsAreDecoded(t *testing.T) {
	for name, c := range map[string]struct{ kind, member, payload string }{
		"a webhook's analysis": {evidence.TypeSonar, "sonar_results", `{"qualityGate":{"status":"OK","conditions":[{"errorThreshold":80}]},"analysedAt":1}`},
		"tests":                {evidence.TypeJUnit, "junit_results", `[{"name":1,"failures":0,"duration":"long"}]`},
		"tickets":              {evidence.TypeJira, "jira_results", `[{"issue_id":1,"issue_exists":true,"issue_fields":[]}]`},
		"a scan":               {evidence.TypeSnyk, "processed_snyk_results", `{"tool":"snyk","results":[{"low_count":0}]}`},
		"a decision":           {evidence.TypeDecision, "attestation_data", `{"is_compliant":true,"by":1}`},
	} {
		content := attested(t, c.kind, 1, map[string]json.RawMessage{c.member: json.RawMessage(c.payload)})
		if found, result := findingsOf(t, audit.NewVerifier(attestationtest.Evaluate, audit.DefaultMemory), content); len(found) > 0 || result.NotEvaluated > 0 {
			t.Errorf("%s: %v, %d not evaluated", name, found, result.NotEvaluated)
		}
	}
}

// TestLargestPayloadIsEvaluated has payloads that are longer than a client may send, once they are indented or stored
// with escapes.
func TestLargestPayloadIsEvaluated(t *testing.T) {
	for name, payload := range map[string]string{
		"deep nesting": strings.Repeat("[", 90) + strings.Repeat("0,", 20_000) + "0" + strings.Repeat("]", 90),
		"escapes":      `["` + strings.Repeat(`\u003c`, 1_000_000) + `"]`,
	} {
		content := attested(t, "custom:scan", 1, map[string]json.RawMessage{"attestation_data": json.RawMessage(payload)})
		if found, result := findingsOf(t, audit.NewVerifier(attestationtest.Evaluate, audit.DefaultMemory), content, "length > 0"); len(found) > 0 || result.NotEvaluated > 0 {
			t.Errorf("%s: %v, %d not evaluated", name, found, result.NotEvaluated)
		}
	}
}

func TestNondeterministicRulesAreNotEvaluatedAgain(t *testing.T) {
	for rule, want := range map[string]int{
		`.env == "prod"`: 0, `.now == null`: 0, `"now" != .x`: 0, `{env: 1}.env == 1`: 0, `(0 | todate) != "" # now`: 0, `(.x | mktime) != 1`: 0,
		`now > 1`: 1, `[.[] | select(now > 1)] | true`: 1, `env.X == 1`: 1, `$ENV.X == 1`: 1, `"\(now)" != ""`: 1,
		`def f: localtime; 0 | f | true`: 1, `if .x then true else (0 | strflocaltime("%Z") == "UTC") end`: 1, `("1 CET" | strptime("%H %Z") | mktime) != 1`: 1, `def f: "%-Z"; try strptime(f) catch true | true`: 1, `("1Z" | strptime("%HZ") | mktime) != 1`: 0, `{a: now} | true`: 1,
		`reduce .[] as $x (now; .) | true`: 1, `. as {a: $x} ?// [$x] | now > 1`: 1, `try now catch true | true`: 1, `.[now]? | true`: 1,
		strings.Repeat(" ", attestation.MaxRule-7) + "now > 1": 1, strings.Repeat(" ", attestation.MaxRule-6) + "now > 1": 0,
	} {
		content := attested(t, "custom:scan", 1, map[string]json.RawMessage{"attestation_data": json.RawMessage(`{"env":"prod"}`)})
		_, result := findingsOf(t, audit.NewVerifier(attestationtest.Evaluate, audit.DefaultMemory), content, rule)
		if result.NotEvaluated != want {
			t.Errorf("%s: %d not evaluated", rule, result.NotEvaluated)
		}
	}
	content := attested(t, "custom:scan", 1, map[string]json.RawMessage{"attestation_data": json.RawMessage(`{}`)})
	if found, result := findingsOf(t, audit.NewVerifier(attestationtest.Evaluate, audit.DefaultMemory), content); len(found) > 0 || result.NotEvaluated != 1 {
		t.Errorf("a version that is lost: %v, %d not evaluated", found, result.NotEvaluated)
	}
}

func TestRefusedEvaluationIsAFinding(t *testing.T) {
	refuse := func(attestation.Definition, json.RawMessage) (attestation.Verdict, error) {
		return attestation.Verdict{}, errors.New("it takes too much")
	}
	content := attested(t, "custom:scan", 1, map[string]json.RawMessage{"attestation_data": json.RawMessage(`{}`)})
	if found, _ := findingsOf(t, audit.NewVerifier(refuse, audit.DefaultMemory), content, "true"); len(found) != 1 || !strings.Contains(found[0].Reason, "it takes too much") {
		t.Errorf("the findings are %v", found)
	}
}

// TestUnavailableEvaluationIsNoFinding has an evaluator that cannot be started, or whose process the system has killed.
func TestUnavailableEvaluationIsNoFinding(t *testing.T) {
	fail := func(attestation.Definition, json.RawMessage) (attestation.Verdict, error) {
		return attestation.Verdict{}, fmt.Errorf("evaluate: %w", &evidence.Error{Code: evidence.Unavailable, Message: "The evaluation failed."})
	}
	content := attested(t, "custom:scan", 1, map[string]json.RawMessage{"attestation_data": json.RawMessage(`{}`)})
	if found, result := findingsOf(t, audit.NewVerifier(fail, audit.DefaultMemory), content, "true"); len(found) > 0 || result.NotEvaluated != 1 {
		t.Errorf("the findings are %v, %d not evaluated", found, result.NotEvaluated)
	}
}
