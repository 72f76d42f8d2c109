// Package attestation has the payloads of the attestation types, as clients send them, and the rules that evaluate them
// (docs/semantics.md 6.3 and 8.2). Struct tags other than json are for the documentation and the validation of
// requests. A generic attestation has no payload: its verdict is the reported is_compliant.
package attestation

import (
	"encoding/json"
	"fmt"

	"attestry/evidence"
)

// Type is a built-in attestation type: a row of Types.
type Type struct {
	// Name is the name in templates and policies.
	Name string
	// Recorded is the Type of stored attestations.
	Recorded string
	// AnswerVersion is the version of the response for such an attestation.
	AnswerVersion int
	// Member is the member of the payload that the type's rule reads, "" if the verdict is reported.
	Member string
	// NewRuleInput makes the value that Member is decoded to. It is nil without a Member.
	NewRuleInput func() RuleInput
	// Summarize sums up the member for people, one element per line. It returns nil for payloads of earlier forms. It is
	// nil for types whose verdict is all there is to show.
	Summarize func(payload json.RawMessage) []string
}

// RuleInput is a pointer to the members of a payload that a rule reads. The rest of a stored payload may have any form.
type RuleInput interface {
	// Compliant applies the rule.
	Compliant() bool
}

// Types are all built-in attestation types, in the order in which messages name them. See also api/attestations.
var Types = []Type{
	{Name: "generic", Recorded: evidence.TypeGeneric, AnswerVersion: 1},
	{Name: "junit", Recorded: evidence.TypeJUnit, AnswerVersion: 1, Member: "junit_results", NewRuleInput: inputOf[junitRule], Summarize: summaryBy(summarizeJUnit)},
	{Name: "snyk", Recorded: evidence.TypeSnyk, AnswerVersion: 2, Member: "processed_snyk_results", NewRuleInput: inputOf[snykRule], Summarize: summaryBy(summarizeSnyk)},
	{Name: "pull_request", Recorded: evidence.TypePullRequest, AnswerVersion: 1, Member: "pull_requests", NewRuleInput: inputOf[pullRequestRule], Summarize: summaryBy(summarizePullRequests)},
	{Name: "jira", Recorded: evidence.TypeJira, AnswerVersion: 1, Member: "jira_results", NewRuleInput: inputOf[jiraRule], Summarize: summaryBy(summarizeJira)},
	{Name: "sonar", Recorded: evidence.TypeSonar, AnswerVersion: 1, Member: "sonar_results", NewRuleInput: inputOf[sonarRule], Summarize: summaryBy(summarizeSonar)},
	{Name: DecisionName, Recorded: evidence.TypeDecision, AnswerVersion: 1, Member: DataMember, NewRuleInput: inputOf[Decision]},
}

// DataMember is the member of a request, and of the payload, that a custom or system type evaluates.
const DataMember = "attestation_data"

// inputOf makes a RuleInput of a type whose pointer implements it.
func inputOf[T any, P interface {
	*T
	RuleInput
}]() RuleInput {
	return P(new(T))
}

// summaryBy decodes a payload for the function that sums it up.
func summaryBy[T any](summarize func(T) []string) func(json.RawMessage) []string {
	return func(payload json.RawMessage) []string {
		var decoded T
		if json.Unmarshal(payload, &decoded) != nil {
			return nil
		}
		return summarize(decoded)
	}
}

// IsCompliant applies the rule of the type to the member of a payload.
func (t *Type) IsCompliant(payload map[string]json.RawMessage) (bool, error) {
	input := t.NewRuleInput()
	if err := json.Unmarshal(payload[t.Member], input); err != nil {
		return false, fmt.Errorf("read its %s: %w", t.Member, err)
	}
	return input.Compliant(), nil
}

// TypeOf returns the built-in type of recorded attestations, or false for a custom one.
func TypeOf(recorded string) (Type, bool) {
	return evidence.First(Types, func(t Type) bool { return t.Recorded == recorded })
}

// Names returns the names of all built-in types.
func Names() []string {
	return evidence.Map(Types, func(one Type) string { return one.Name })
}

const (
	// MaxPayload bounds a payload that is evaluated, in bytes of JSON.
	MaxPayload = 1 << 20
	// MaxDepth bounds the nesting of a payload. Evaluation recurses, and Go ends a process whose stack is too large.
	MaxDepth = 100
)
