package policy

import (
	"fmt"
	"strings"

	"attestry/evidence"
)

// Sentence explains one resolution of a rule in plain English.
type Sentence struct {
	Outcome Outcome
	// Text says what was found.
	Text string
	// Remedy says what would make the rule satisfied, "" if it does not fail.
	Remedy string
}

// Explain words a resolution of the rule of the given number.
func (p *Policy) Explain(number int, resolution Resolution, facts *Facts) Sentence {
	kind, requirement, attestation := p.Rule(number)
	e := explanation{kind: kind, requirement: requirement, rule: attestation, facts: facts}
	if resolution.Flow != NoFlow {
		e.flow = &facts.Flows[resolution.Flow]
	}
	sentence := Sentence{Outcome: resolution.Outcome}
	if resolution.Fault != "" {
		sentence.Text = e.subject() + ": " + resolution.Fault + "."
		sentence.Remedy = "Correct the condition in the policy, or the tag of the flow that it reads."
		return sentence
	}
	switch resolution.Outcome {
	case Satisfied:
		sentence.Text = e.satisfied(resolution)
	case NotApplicable:
		sentence.Text = e.notApplicable()
	case MissingProvenance, NoProvenance:
		sentence.Text = "No flow knows the artifact, " + e.consequence() + "."
		sentence.Remedy = "Report the artifact, by its fingerprint, to a trail of the flow that builds it."
	case NonCompliantInTrail:
		sentence.Text = e.where() + " the artifact is " + string(e.flow.Status) + e.reasons() + "."
		sentence.Remedy = e.mendTrail()
	case MissingAttestation:
		sentence.Text = e.missing()
		sentence.Remedy = e.attest()
	case NonCompliantAttestation:
		sentence.Text = e.nonCompliant(resolution.Attestation)
		sentence.Remedy = e.attestAgain()
	}
	return sentence
}

// explanation is what sentences about a resolution are made of.
type explanation struct {
	kind        RuleKind
	requirement *Requirement
	rule        *AttestationRule
	facts       *Facts
	flow        *Flow // nil for an artifact that no flow knows
}

// where begins a sentence with the trail and the flow.
func (e *explanation) where() string {
	return fmt.Sprintf("In trail '%s' of flow '%s'", e.flow.Trail, e.flow.Name)
}

// subject begins a sentence about the flow, or about the lack of one.
func (e *explanation) subject() string {
	if e.flow == nil {
		return "For an artifact that no flow knows"
	}
	return fmt.Sprintf("For flow '%s'", e.flow.Name)
}

func (e *explanation) satisfied(resolution Resolution) string {
	switch {
	case e.kind == ProvenanceRule:
		return fmt.Sprintf("Flow '%s' knows the artifact from trail '%s'.", e.flow.Name, e.flow.Trail)
	case e.kind == TrailComplianceRule:
		return e.where() + " the artifact is COMPLIANT."
	case e.rule.ForControl != "":
		return e.decision(resolution.Attestation)
	}
	found := resolution.Attestation
	return fmt.Sprintf("%s there is the %s attestation '%s' of type %s.", e.where(), verdict(found.Compliant), found.Name, found.Type)
}

func (e *explanation) decision(found *Attestation) string {
	return fmt.Sprintf("The latest decision on control '%s', '%s' in trail '%s' of flow '%s', is %s.",
		e.rule.ForControl, found.Name, found.Trail, found.Flow, verdict(found.Compliant))
}

func verdict(compliant bool) string {
	if compliant {
		return "compliant"
	}
	return "non-compliant"
}

func (e *explanation) notApplicable() string {
	switch {
	case e.kind == ProvenanceRule && !e.requirement.Required:
		return "The policy does not require provenance."
	case e.kind == TrailComplianceRule && !e.requirement.Required:
		return "The policy does not require compliant trails."
	case e.rule == nil:
		return fmt.Sprintf("%s an exception applies: %s.", e.subject(), e.exception())
	}
	return fmt.Sprintf("%s the rule does not apply, as its condition is false: %s.", e.subject(), e.rule.If.Text)
}

// exception returns the text of the first exception that holds.
func (e *explanation) exception() string {
	subject := e.facts.subject(e.flow)
	for _, exception := range e.requirement.Exceptions {
		if holds, err := exception.Evaluate(subject); holds && err == nil {
			return exception.Text
		}
	}
	return ""
}

// consequence says what the lack of provenance means for the rule.
func (e *explanation) consequence() string {
	switch {
	case e.kind == ProvenanceRule:
		return "and the policy requires provenance"
	case e.kind == TrailComplianceRule:
		return "so there is no trail that could be compliant"
	case e.rule.ForControl != "":
		return fmt.Sprintf("so no decision on control '%s' can count for it", e.rule.ForControl)
	}
	return "so it cannot have an " + e.attestation()
}

// attestation names the attestation that the rule requires.
func (e *explanation) attestation() string {
	switch {
	case e.rule.Name == Any:
		return "attestation of type " + e.rule.Type
	case e.rule.Type == Any:
		return fmt.Sprintf("attestation '%s'", e.rule.Name)
	}
	return fmt.Sprintf("attestation '%s' of type %s", e.rule.Name, e.rule.Type)
}

// reasons lists what keeps an artifact from being compliant in its trail.
func (e *explanation) reasons() string {
	var reasons []string
	shortfall := &e.flow.Shortfall
	if len(shortfall.Failing) > 0 {
		reasons = append(reasons, "non-compliant: "+quote(shortfall.Failing))
	}
	if len(shortfall.Missing) > 0 {
		reasons = append(reasons, "missing: "+quote(shortfall.Missing))
	}
	if shortfall.Others > 0 {
		reasons = append(reasons, fmt.Sprintf("and %d more", shortfall.Others))
	}
	if len(reasons) == 0 {
		return ""
	}
	return " (" + strings.Join(reasons, "; ") + ")"
}

func quote(names []string) string { return "'" + strings.Join(names, "', '") + "'" }

func (e *explanation) mendTrail() string {
	if e.flow.Status == evidence.Incomplete && len(e.flow.Shortfall.Missing) > 0 {
		return "Record the missing attestations in the trail."
	}
	again := "ttest again what is non-compliant once it has been put right, or override it with a reason."
	if len(e.flow.Shortfall.Missing) > 0 {
		return "Record the missing attestations in the trail, and a" + again
	}
	return "A" + again
}

func (e *explanation) missing() string {
	switch {
	case e.rule.ForControl == "":
		return e.where() + " there is no " + e.attestation() + "."
	case e.rule.Name != Any:
		return fmt.Sprintf("The latest decision on control '%s' for the artifact or one of its trails is not named '%s', or there is none.",
			e.rule.ForControl, e.rule.Name)
	}
	return fmt.Sprintf("There is no decision on control '%s' for the artifact or one of its trails.", e.rule.ForControl)
}

func (e *explanation) attest() string {
	switch {
	case e.rule.ForControl != "" && e.rule.Name != Any:
		return fmt.Sprintf("Record a compliant decision on control '%s' under the name '%s' for the artifact or one of its trails.",
			e.rule.ForControl, e.rule.Name)
	case e.rule.ForControl != "":
		return fmt.Sprintf("Record a compliant decision on control '%s' for the artifact or one of its trails.", e.rule.ForControl)
	}
	return fmt.Sprintf("Record an %s for the artifact or its trail '%s' in flow '%s'.", e.attestation(), e.flow.Trail, e.flow.Name)
}

func (e *explanation) nonCompliant(found *Attestation) string {
	if found == nil { // snapshots keep the first ones only
		return fmt.Sprintf("%s the %s is non-compliant.", e.where(), e.attestation())
	}
	if e.rule.ForControl != "" {
		return e.decision(found)
	}
	return fmt.Sprintf("%s the attestation '%s' of type %s is non-compliant.", e.where(), found.Name, found.Type)
}

func (e *explanation) attestAgain() string {
	if e.rule.ForControl != "" {
		return fmt.Sprintf("Record a compliant decision on control '%s' once it is fulfilled, or override the last one with a reason.", e.rule.ForControl)
	}
	return "Attest again once it has been put right, or override the attestation with a reason."
}
