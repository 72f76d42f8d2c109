// Package policy parses environment policies, evaluates artifacts by them and explains the result.
package policy

import (
	"attestry/evidence"
	"attestry/evidence/expression"
	"attestry/evidence/independent"
)

// Any matches every name or type in an attestation rule.
const Any = "*"

// Policy says what an artifact must fulfil to run in an environment.
type Policy struct {
	Provenance      Requirement
	TrailCompliance Requirement
	Attestations    []AttestationRule
	// PatternSize is what the regular expressions take up in memory, estimated, in bytes.
	PatternSize int
}

// Requirement is the rule on provenance or on the compliance of trails.
type Requirement struct {
	Required bool
	// Exceptions exempt an artifact in a flow if one of them holds.
	Exceptions []*expression.Expression
}

// AttestationRule asks for an attestation.
type AttestationRule struct {
	Name string // or Any
	Type string // or Any
	// If limits the rule to the artifacts and flows for which it holds; nil for all.
	If              *expression.Expression
	MustBeCompliant bool
	// ForControl is the identifier of the control that a decision must be on, "" for none.
	ForControl string
	// Independent asks for approvals of a pull request, nil for none.
	Independent *independent.ApprovalRule
	// Separated asks that whoever makes a decision neither wrote nor approved the code.
	Separated bool
}

// Accepts reports whether an attestation has the name and type of the rule; decision is system:decision.
func (r *AttestationRule) Accepts(entry evidence.Entry) bool {
	return (r.Name == Any || r.Name == entry.Name) &&
		(r.Type == Any || r.Type == entry.Type || evidence.SystemPrefix+r.Type == entry.Type)
}

// Controls lists the controls that the policy names, each once, in the order of its rules.
func (p *Policy) Controls() []string {
	var controls []string
	seen := map[string]bool{"": true}
	for _, rule := range p.Attestations {
		if !seen[rule.ForControl] {
			seen[rule.ForControl] = true
			controls = append(controls, rule.ForControl)
		}
	}
	return controls
}

// RuleKind is the kind of a rule, in the words of answers.
type RuleKind string

// The kinds of rules, in the order in which they are evaluated.
const (
	ProvenanceRule      RuleKind = "provenance"
	TrailComplianceRule RuleKind = "trail-compliance"
	AttestationRuleKind RuleKind = "attestation"
)

// TrailComplianceNumber is the number of the rule on the compliance of trails.
const TrailComplianceNumber = 1

// Rules is how many rules the policy has; see Rule.
func (p *Policy) Rules() int { return 2 + len(p.Attestations) }

// Rule returns a rule by its number from 0: a requirement or an attestation rule.
func (p *Policy) Rule(number int) (kind RuleKind, requirement *Requirement, attestation *AttestationRule) {
	switch number {
	case 0:
		return ProvenanceRule, &p.Provenance, nil
	case 1:
		return TrailComplianceRule, &p.TrailCompliance, nil
	default:
		return AttestationRuleKind, nil, &p.Attestations[number-2]
	}
}
