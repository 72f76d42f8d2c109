// Package policy parses environment policies, evaluates artifacts by them and explains the result.
package policy

import (
	"attestry/evidence"
	"attestry/evidence/expression"
	"attestry/evidence/independent"
)

// Any matches every name or type in an attestation rule.
const Any = "*"

// Policy has the rules for artifacts in an environment.
type Policy struct {
	Provenance      Requirement
	TrailCompliance Requirement
	Attestations    []AttestationRule
	// PatternSize is the estimated memory of the regular expressions, in bytes.
	PatternSize int
}

// Requirement is the rule on provenance or on the compliance of trails.
type Requirement struct {
	Required bool
	// Exceptions exempt an artifact in a flow if one of them is true.
	Exceptions []*expression.Expression
}

// AttestationRule requires an attestation.
type AttestationRule struct {
	Name string // or Any
	Type string // or Any
	// If limits the rule to the artifacts and flows for which it is true; nil for all.
	If              *expression.Expression
	MustBeCompliant bool
	// ForControl is the identifier of the control of a required decision, "" for none.
	ForControl string
	// Independent requires approvals of a pull request, nil for none.
	Independent *independent.ApprovalRule
	// Separated requires that whoever makes a decision neither wrote nor approved the code.
	Separated bool
}

// Accepts reports whether an attestation has the name and type of the rule. The type decision matches system:decision.
func (r *AttestationRule) Accepts(entry evidence.Entry) bool {
	return (r.Name == Any || r.Name == entry.Name) &&
		(r.Type == Any || r.Type == entry.Type || evidence.SystemPrefix+r.Type == entry.Type)
}

// Controls lists the distinct controls of the policy, in the order of its rules.
func (p *Policy) Controls() []string {
	controls := evidence.Map(p.Attestations, func(rule AttestationRule) string { return rule.ForControl })
	return evidence.WithoutEmpty(evidence.Distinct(controls))
}

// RuleKind is the kind of a rule, as the API writes it.
type RuleKind string

// The kinds of rules, in the order in which they are evaluated.
const (
	ProvenanceRule      RuleKind = "provenance"
	TrailComplianceRule RuleKind = "trail-compliance"
	AttestationRuleKind RuleKind = "attestation"
)

// TrailComplianceNumber is the number of the rule on the compliance of trails.
const TrailComplianceNumber = 1

// Rules is the number of rules; see Rule.
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
