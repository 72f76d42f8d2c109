package policy

import (
	"cmp"
	"fmt"
	"slices"

	"attestry/evidence"
	"attestry/evidence/expression"
	"attestry/evidence/independent"
)

// Outcome is the outcome of a resolution, as the API writes it.
type Outcome string

// The outcomes of a rule for one flow (docs/semantics.md 18.3).
const (
	Satisfied               Outcome = "rule_satisfied"
	NotApplicable           Outcome = "rule_not_applicable"
	MissingProvenance       Outcome = "missing_provenance"
	NoProvenance            Outcome = "no_provenance"
	NonCompliantInTrail     Outcome = "non_compliant_in_trail"
	MissingAttestation      Outcome = "missing_attestation"
	NonCompliantAttestation Outcome = "non_compliant_attestation"
)

// Failing reports whether the outcome keeps the rule from being satisfied.
func (o Outcome) Failing() bool { return o != Satisfied && o != NotApplicable }

// NoFlow is the Flow of a resolution about an artifact without provenance.
const NoFlow = -1

// Resolution is the result of a rule for one flow.
type Resolution struct {
	Outcome Outcome
	// Flow is the index of the flow in Facts.Flows, or NoFlow.
	Flow int
	// Attestation is the one that decided, or nil.
	Attestation *Attestation
	// Fault is why a condition could not be evaluated. Then the rule is not satisfied.
	Fault string
}

// Attestation is an attestation that decided on a rule, with the flow and the trail in which it was recorded.
type Attestation struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Type      string `json:"type"`
	Flow      string `json:"flow"`  // name
	Trail     string `json:"trail"` // name
	Compliant bool   `json:"compliant"`
	// Finding is that of the attestation (attestation.Finding).
	Finding string `json:"finding,omitempty"`
}

// RuleEvaluation is one rule's evaluation: a resolution per flow, or one without a flow.
type RuleEvaluation struct {
	Resolutions []Resolution
}

// Ignored reports whether the rule applied to no flow.
func (e RuleEvaluation) Ignored() bool {
	return !slices.ContainsFunc(e.Resolutions, func(r Resolution) bool { return r.Outcome != NotApplicable })
}

// Failing reports whether the rule applied and is not satisfied.
func (e RuleEvaluation) Failing() bool {
	return slices.ContainsFunc(e.Resolutions, func(r Resolution) bool { return r.Outcome.Failing() })
}

// Evaluation is the evaluation of a policy for one artifact, by the number of the rule.
type Evaluation []RuleEvaluation

// Compliant reports whether no rule of the policy fails (docs/semantics.md 18.3).
func (e Evaluation) Compliant() bool { return !slices.ContainsFunc(e, RuleEvaluation.Failing) }

// Evaluate evaluates an artifact by a policy. Snapshots, asserts and dry runs use it, so they cannot differ.
func (p *Policy) Evaluate(facts *Facts) Evaluation {
	evaluation := make(Evaluation, p.Rules())
	add := func(at int, flow *Flow) {
		subject := &subject{facts: facts, flow: flow, conditions: facts.subject(flow)}
		if flow != nil {
			subject.contributors = independent.Contributors{Entries: flow.Attestations, Author: flow.Author}
		}
		for number := range evaluation {
			resolution := p.resolve(number, subject)
			resolution.Flow = at
			evaluation[number].Resolutions = append(evaluation[number].Resolutions, resolution)
		}
	}
	if len(facts.Flows) == 0 {
		add(NoFlow, nil)
	}
	for at := range facts.Flows {
		add(at, &facts.Flows[at])
	}
	return evaluation
}

// subject is what the rules of a policy are evaluated for: an artifact in one of its flows.
type subject struct {
	facts *Facts
	flow  *Flow // nil without provenance
	// conditions bounds the work of the conditions of all rules.
	conditions *expression.Subject
	// contributors are those of the flow, for all rules.
	contributors independent.Contributors
}

// resolve evaluates a rule.
func (p *Policy) resolve(number int, s *subject) Resolution {
	kind, requirement, attestation := p.Rule(number)
	resolution := Resolution{Outcome: NotApplicable}
	applies, err := requirement.applies(s.conditions)
	if kind == AttestationRuleKind {
		applies = true
		if attestation.If != nil {
			applies, err = evaluate(attestation.If, s.conditions)
		}
	}
	switch {
	case err != nil:
		resolution.Outcome, resolution.Fault = failure(kind, s.flow), err.Error()
	case !applies:
	case s.flow == nil:
		resolution.Outcome = failure(kind, nil)
	case kind == AttestationRuleKind:
		resolution.Outcome, resolution.Attestation = attestation.resolve(s)
	case kind == TrailComplianceRule && s.flow.Status != evidence.Compliant:
		resolution.Outcome = NonCompliantInTrail
	default:
		resolution.Outcome = Satisfied
	}
	return resolution
}

// failure is the outcome of a rule that fails without a flow, or because a condition cannot be evaluated.
func failure(kind RuleKind, flow *Flow) Outcome {
	switch {
	case kind == ProvenanceRule:
		return MissingProvenance
	case flow == nil:
		return NoProvenance
	case kind == TrailComplianceRule:
		return NonCompliantInTrail
	default:
		return MissingAttestation
	}
}

// applies reports whether the requirement is not nil, is set, and no exception exempts the subject.
func (r *Requirement) applies(subject *expression.Subject) (bool, error) {
	if r == nil || !r.Required {
		return false, nil
	}
	for _, exception := range r.Exceptions {
		exempted, err := evaluate(exception, subject)
		if exempted || err != nil {
			return false, err
		}
	}
	return true, nil
}

func evaluate(condition *expression.Expression, subject *expression.Subject) (bool, error) {
	holds, err := condition.Evaluate(subject)
	if err != nil {
		return false, fmt.Errorf("the condition %s cannot be evaluated: %w", condition.Text, err)
	}
	return holds, nil
}

// resolve finds the attestation that decides on an artifact in a flow.
func (r *AttestationRule) resolve(s *subject) (Outcome, *Attestation) {
	var found *Attestation
	flow := s.flow
	lack, exempt := "", r.Independent.Exempts(flow.Author)
	if r.ForControl != "" {
		// The latest decision on the control counts, in whichever flow it was recorded (docs/semantics.md 18.3).
		if decision, ok := s.facts.Decisions[r.ForControl]; ok && r.Accepts(decision.Entry) {
			found, lack = citation(&decision.Entry, decision.Flow, decision.Trail), r.lack(&decision.Entry, s)
		}
	} else if entry := r.find(s); entry != nil {
		found, lack = citation(entry, flow.Name, flow.Trail), r.lack(entry, s)
		exempt = exempt && !entry.Override
	}
	if exempt {
		found, lack = citation(&evidence.Entry{Name: r.Name, Type: r.Type, Compliant: true}, flow.Name, flow.Trail), ""
	}
	lack = cmp.Or(lack, r.Independent.Unapproved(flow.Unapproved))
	switch {
	case exempt && lack == "":
		return Satisfied, nil
	case found == nil:
		return MissingAttestation, nil
	case r.MustBeCompliant && !found.Compliant:
		return NonCompliantAttestation, found
	case lack != "":
		found.Finding = lack
		return NonCompliantAttestation, found
	default:
		return Satisfied, found
	}
}

func citation(entry *evidence.Entry, flow, trail string) *Attestation {
	return &Attestation{
		ID: entry.ID, Name: entry.Name, Type: entry.Type, Flow: flow, Trail: trail, Compliant: entry.Compliant, Finding: entry.Finding,
	}
}

// lack describes the missing approval or separation of duties of an attestation, "" if there is none.
func (r *AttestationRule) lack(entry *evidence.Entry, s *subject) string {
	if r.Separated {
		return s.contributors.Unseparated(entry)
	}
	return r.Independent.Lack(entry)
}

// fulfils reports whether an attestation is compliant and has the required approvals.
func (r *AttestationRule) fulfils(entry *evidence.Entry, s *subject) bool {
	return entry.Compliant && r.lack(entry, s) == ""
}

// find returns the attestation of the flow that decides: the latest one. A rule for any name prefers one that fulfils it.
func (r *AttestationRule) find(s *subject) (found *evidence.Entry) {
	for i := range s.flow.Attestations {
		entry := &s.flow.Attestations[i]
		switch {
		case !r.Accepts(*entry):
		case found == nil, r.Name == Any && r.fulfils(entry, s) && !r.fulfils(found, s):
			found = entry
		case (r.Name != Any || r.fulfils(entry, s) == r.fulfils(found, s)) && evidence.CompareEntries(*entry, *found) > 0:
			found = entry
		}
	}
	return found
}
