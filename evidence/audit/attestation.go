package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"attestry/evidence"
	"attestry/evidence/attestation"
)

// Evaluator evaluates a payload by the definition of a custom type, as attestation.Evaluate does. For
// packages of strangers it should have limits, as that of app/evaluation has. An error with the code
// evidence.Unavailable is of the machine that evaluates, and says nothing of the payload.
type Evaluator func(definition attestation.Definition, payload json.RawMessage) (attestation.Verdict, error)

// attestationFacts is what later checks read of an attestation.
type attestationFacts struct {
	flow, trail string // id and name
	control     string
	targets     []string
	entry       evidence.SlotEntry
}

func newAttestationFacts(a *evidence.Attestation) attestationFacts {
	return attestationFacts{flow: a.Flow, trail: a.Trail, control: a.Control, targets: a.Targets, entry: a.SlotEntry()}
}

// size is how many bytes of memory the facts of an attestation take that can be of any length.
func (f *attestationFacts) size() int64 {
	entry := &f.entry
	return lengthOf(f.flow, f.trail, f.control, entry.Name, entry.Type, entry.ID, entry.Overridden, entry.Fingerprint, entry.Commit) +
		lengthOf(f.targets...) + int64(len(f.targets))*stringHeader
}

// followsFromPayload is false of attestations whose verdict was reported as it is, or replaced with a
// reason.
func followsFromPayload(a *evidence.Attestation) bool {
	return a.Override == nil && a.Type != evidence.TypeGeneric
}

// evaluateBuiltIn evaluates the payload of an attestation of a built-in type anew, by the rules of its
// type (docs/semantics.md 6.3). Of the payload it decodes no more than they read: the service does not
// examine the rest of everything that it stores. It is not ok if there is no such payload or rule.
func evaluateBuiltIn(a *evidence.Attestation, limit int64) (compliant, ok bool, err error) {
	switch a.Type {
	case evidence.TypeJUnit:
		return evaluate(a, limit, "junit_results", junitCompliant)
	case evidence.TypeJira:
		return evaluate(a, limit, "jira_results", jiraCompliant)
	case evidence.TypePullRequest:
		return evaluate(a, limit, "pull_requests", attestation.EvaluatePullRequests)
	case evidence.TypeSnyk:
		return evaluate(a, limit, "processed_snyk_results", snykCompliant)
	case evidence.TypeSonar:
		return evaluate(a, limit, "sonar_results", sonarCompliant)
	case evidence.TypeDecision:
		return evaluate(a, limit, dataMember, func(decision decisionData) bool { return decision.Compliant })
	}
	return false, false, nil
}

func evaluate[T any](a *evidence.Attestation, limit int64, member string, rule func(T) bool) (compliant, ok bool, err error) {
	content, sent := a.Payload[member]
	if !sent {
		return false, false, nil
	}
	var value T
	if err := checkSize(content, &value, limit); err != nil {
		return false, false, fmt.Errorf("read its %s: %w", member, err)
	}
	if err := json.Unmarshal(content, &value); err != nil {
		return false, false, fmt.Errorf("read its %s: %w", member, err)
	}
	return rule(value), true, nil
}

type junitData struct {
	Failures int64 `json:"failures"`
	Errors   int64 `json:"errors"`
}

func junitCompliant(suites []junitData) bool {
	results := make([]attestation.JUnitResult, 0, len(suites))
	for _, suite := range suites {
		results = append(results, attestation.JUnitResult{Failures: suite.Failures, Errors: suite.Errors})
	}
	return attestation.EvaluateJUnit(results)
}

type jiraData struct {
	Exists bool `json:"issue_exists"`
}

func jiraCompliant(issues []jiraData) bool {
	items := make([]attestation.JiraItem, 0, len(issues))
	for _, issue := range issues {
		items = append(items, attestation.JiraItem{IssueExists: issue.Exists})
	}
	return attestation.EvaluateJira(items)
}

type snykData struct {
	Results []struct {
		Low    int64 `json:"low_count"`
		Medium int64 `json:"medium_count"`
		High   int64 `json:"high_count"`
	} `json:"results"`
}

func snykCompliant(scan snykData) bool {
	var summary attestation.SnykResultsSummary
	for _, project := range scan.Results {
		summary.Results = append(summary.Results, attestation.ProjectScanResult{
			LowCount: project.Low, MediumCount: project.Medium, HighCount: project.High,
		})
	}
	return attestation.EvaluateSnyk(summary)
}

type sonarData struct {
	Gate *struct {
		Status string `json:"status"`
	} `json:"qualityGate"`
}

func sonarCompliant(analysis sonarData) bool {
	var results attestation.SonarResults
	if analysis.Gate != nil {
		results.QualityGate = &attestation.QualityGate{Status: analysis.Gate.Status}
	}
	return attestation.EvaluateSonar(results)
}

// dataMember is the member of the payload with what a custom or system type judges.
const dataMember = "attestation_data"

// decisionData is what the payload of a decision says.
type decisionData struct {
	Compliant bool `json:"is_compliant"`
}

func isCustom(a *evidence.Attestation) bool { return strings.HasPrefix(a.Type, evidence.CustomPrefix) }

func typePathOf(a *evidence.Attestation) string {
	return TypePath(strings.TrimPrefix(a.Type, evidence.CustomPrefix), a.TypeVersion)
}

// dataAsSent returns the payload of a custom type as short as a client can have sent it: members of
// packages are indented, and stored JSON has escapes for HTML, but payloads have a greatest size.
func dataAsSent(stored json.RawMessage) (json.RawMessage, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, stored); err != nil {
		return nil, err
	}
	if compact.Len() <= attestation.MaxPayload {
		return compact.Bytes(), nil
	}
	decoder := json.NewDecoder(&compact)
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	var short bytes.Buffer
	encoder := json.NewEncoder(&short)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSpace(short.Bytes()), err
}
