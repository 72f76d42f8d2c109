package audit

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"attestry/evidence"
	"attestry/evidence/attestation"
)

// Evaluate evaluates the payload of an attestation anew, by the rules of its type
// (docs/semantics.md 6.3). custom is the version of a custom type that judged it, nil if that is
// not in the package. It is not ok where the verdict does not follow from the payload: it was
// reported as it is, or replaced with a reason.
func Evaluate(a *evidence.Attestation, custom *TypeDocument) (compliant, ok bool, err error) {
	if a.Override != nil {
		return false, false, nil
	}
	switch a.Type {
	case evidence.TypeJUnit:
		return evaluate(a, "junit_results", attestation.EvaluateJUnit)
	case evidence.TypeJira:
		return evaluate(a, "jira_results", attestation.EvaluateJira)
	case evidence.TypePullRequest:
		return evaluate(a, "pull_requests", attestation.EvaluatePullRequests)
	case evidence.TypeSnyk:
		return evaluate(a, "processed_snyk_results", attestation.EvaluateSnyk)
	case evidence.TypeSonar:
		return evaluate(a, "sonar_results", attestation.EvaluateSonar)
	case evidence.TypeDecision:
		return evaluate(a, "attestation_data", func(decision decisionData) bool { return decision.Compliant })
	}
	if !strings.HasPrefix(a.Type, evidence.CustomPrefix) || custom == nil || custom.dependsOnTime() {
		return false, false, nil
	}
	verdict, err := attestation.Evaluate(attestation.Definition{Schema: custom.Schema, Rules: custom.Rules}, a.Payload["attestation_data"])
	if err != nil {
		return false, false, fmt.Errorf("evaluate it by version %d of its type: %w", custom.Version, err)
	}
	return verdict.Compliant, true, nil
}

// timeFunctions are the functions of jq whose value depends on when or where they are evaluated.
var timeFunctions = regexp.MustCompile(`\b(now|localtime|strflocaltime|mktime|todate|env|\$ENV)\b`)

// dependsOnTime reports whether the rules may come to something else at another time.
func (t *TypeDocument) dependsOnTime() bool {
	return slices.ContainsFunc(t.Rules, timeFunctions.MatchString)
}

// decisionData is what the payload of a decision says.
type decisionData struct {
	Compliant bool `json:"is_compliant"`
}

func evaluate[T any](a *evidence.Attestation, member string, rule func(T) bool) (compliant, ok bool, err error) {
	content, sent := a.Payload[member]
	if !sent {
		return false, false, nil
	}
	var value T
	if err := json.Unmarshal(content, &value); err != nil {
		return false, false, fmt.Errorf("read its %s: %w", member, err)
	}
	return rule(value), true, nil
}
