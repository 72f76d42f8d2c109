package policy

import (
	"fmt"
	"strings"

	"attestry/evidence"
)

// Sentence explains one resolution of a rule in plain English.
type Sentence struct {
	Outcome Outcome
	// Text describes the result.
	Text string
	// Finding explains the verdicts of the attestations that Text names, "" if unknown.
	Finding string
	// Remedy is what would satisfy the rule, "" if it does not fail.
	Remedy string
}

// Full is Text with Finding.
func (s *Sentence) Full() string {
	if s.Finding == "" {
		return s.Text
	}
	return strings.TrimSuffix(s.Text, ".") + ": " + strings.TrimRight(s.Finding, ".") + "."
}

// Explain explains a resolution of the rule of a number.
func (p *Policy) Explain(number int, resolution Resolution, facts *Facts) Sentence {
	kind, requirement, rule := p.Rule(number)
	var flow *Flow
	subject := "For an artifact that no flow knows"
	if resolution.Flow != NoFlow {
		flow = &facts.Flows[resolution.Flow]
		subject = fmt.Sprintf("For flow '%s'", flow.Name)
	}
	said := Sentence{Outcome: resolution.Outcome}
	switch {
	case resolution.Fault != "":
		said.Text = subject + ": " + resolution.Fault + "."
		said.Remedy = "Correct the condition in the policy, or the tag of the flow that it reads."
	case said.Outcome == NotApplicable && rule != nil:
		said.Text = fmt.Sprintf("%s the rule does not apply, as its condition is false: %s.", subject, rule.If.Text)
	case said.Outcome == NotApplicable && requirement.Required:
		said.Text = fmt.Sprintf("%s an exception applies: %s.", subject, requirement.exception(facts, flow))
	case said.Outcome == NotApplicable && kind == ProvenanceRule:
		said.Text = "The policy does not require provenance."
	case said.Outcome == NotApplicable:
		said.Text = "The policy does not require compliant trails."
	case said.Outcome == MissingProvenance || said.Outcome == NoProvenance:
		said.Text = "No flow knows the artifact, " + consequence(kind, rule) + "."
		said.Remedy = "Report the artifact, by its fingerprint, to a trail of the flow that builds it."
	case kind == ProvenanceRule:
		said.Text = fmt.Sprintf("Flow '%s' knows the artifact from trail '%s'.", flow.Name, flow.Trail)
	case kind == TrailComplianceRule:
		said.explainTrail(flow)
	case rule.ForControl != "":
		said.explainControl(rule, resolution.Attestation, flow)
	default:
		said.explainAttestation(rule, resolution.Attestation, flow)
	}
	if found := resolution.Attestation; found != nil {
		said.Finding = found.Finding
	}
	return said
}

// exception returns the text of the first exception that is true.
func (r *Requirement) exception(facts *Facts, flow *Flow) string {
	subject := facts.subject(flow)
	for _, exception := range r.Exceptions {
		if holds, err := exception.Evaluate(subject); holds && err == nil {
			return exception.Text
		}
	}
	return ""
}

// consequence is the consequence of missing provenance for a rule.
func consequence(kind RuleKind, rule *AttestationRule) string {
	switch {
	case kind == ProvenanceRule:
		return "and the policy requires provenance"
	case kind == TrailComplianceRule:
		return "so there is no trail that could be compliant"
	case rule.ForControl != "":
		return fmt.Sprintf("so no decision on control '%s' can count for it", rule.ForControl)
	}
	return "so it cannot have an " + rule.wanted()
}

// where is the beginning of a sentence about the trail.
func (f *Flow) where() string { return fmt.Sprintf("In trail '%s' of flow '%s'", f.Trail, f.Name) }

func (s *Sentence) explainTrail(flow *Flow) {
	if s.Outcome == Satisfied {
		s.Text = flow.where() + " the artifact is COMPLIANT."
		return
	}
	s.Text = flow.where() + " the artifact is " + string(flow.Status) + flow.Shortfall.Reasons() + "."
	s.Finding = flow.Shortfall.findings()
	s.Remedy = "Attest again what is non-compliant once it has been put right, or override it with a reason."
	if missing := len(flow.Shortfall.Missing) > 0; missing && flow.Status == evidence.Incomplete {
		s.Remedy = "Record the missing attestations in the trail."
	} else if missing {
		s.Remedy = "Record the missing attestations in the trail, and a" + strings.TrimPrefix(s.Remedy, "A")
	}
}

// Reasons lists the shortfall in brackets; "" if it is empty.
func (s *Shortfall) Reasons() string {
	var reasons []string
	if len(s.Failing) > 0 {
		reasons = append(reasons, "non-compliant: "+quote(s.Failing))
	}
	if len(s.Missing) > 0 {
		reasons = append(reasons, "missing: "+quote(s.Missing))
	}
	if s.Others > 0 {
		reasons = append(reasons, fmt.Sprintf("and %d more", s.Others))
	}
	if len(reasons) == 0 {
		return ""
	}
	return " (" + strings.Join(reasons, "; ") + ")"
}

// findings are the findings of failing attestations, with names if there are several.
func (s *Shortfall) findings() string {
	var findings []string
	for _, name := range s.Failing {
		switch finding := s.Findings[name]; {
		case finding == "":
		case len(s.Failing) == 1:
			return finding
		default:
			findings = append(findings, fmt.Sprintf("'%s': %s", name, finding))
		}
	}
	return strings.Join(findings, "; ")
}

func quote(names []string) string { return "'" + strings.Join(names, "', '") + "'" }

// wanted describes the required attestation.
func (r *AttestationRule) wanted() string {
	switch {
	case r.Name == Any:
		return "attestation of type " + r.Type
	case r.Type == Any:
		return fmt.Sprintf("attestation '%s'", r.Name)
	}
	return fmt.Sprintf("attestation '%s' of type %s", r.Name, r.Type)
}

// explainAttestation explains a rule without a control. found is nil if there is none or a snapshot has dropped it.
func (s *Sentence) explainAttestation(rule *AttestationRule, found *Attestation, flow *Flow) {
	switch {
	case s.Outcome == MissingAttestation:
		s.Text = fmt.Sprintf("%s there is no %s.", flow.where(), rule.wanted())
		s.Remedy = fmt.Sprintf("Record an %s for the artifact or its trail '%s' in flow '%s'.", rule.wanted(), flow.Trail, flow.Name)
		return
	case s.Outcome == Satisfied && found == nil:
		s.Text = fmt.Sprintf("The commit of trail '%s' of flow '%s' is of a machine account, which needs no approval.", flow.Trail, flow.Name)
		return
	case s.Outcome == Satisfied:
		s.Text = fmt.Sprintf("%s there is the %s attestation '%s' of type %s.",
			flow.where(), evidence.Verdict(found.Compliant), found.Name, found.Type)
		return
	case found == nil:
		s.Text = fmt.Sprintf("%s the %s is non-compliant.", flow.where(), rule.wanted())
	case found.Compliant && found.Finding != "" && found.Finding == rule.Independent.Unapproved(flow.Unapproved):
		s.Text = fmt.Sprintf("%s the artifact brings changes without independent approval.", flow.where())
		s.Remedy = "Have others approve the pull requests of these trails, attest them, and release again, or put the artifact on the allow list."
		return
	case found.Compliant && !rule.Separated:
		s.Text = fmt.Sprintf("%s the attestation '%s' of type %s has no independent approval.", flow.where(), found.Name, found.Type)
		s.Remedy = "Have somebody approve the pull request after its last commit who wrote none of it, and attest it again."
		return
	default:
		s.Text = fmt.Sprintf("%s the attestation '%s' of type %s is non-compliant.", flow.where(), found.Name, found.Type)
	}
	s.Remedy = "Attest again once it has been put right, or override the attestation with a reason."
}

// explainControl explains a rule on a control. found is nil as in explainAttestation.
func (s *Sentence) explainControl(rule *AttestationRule, found *Attestation, flow *Flow) {
	const place = "for the artifact or one of its trails"
	control := fmt.Sprintf("on control '%s'", rule.ForControl)
	switch {
	case s.Outcome == MissingAttestation && rule.Name == Any:
		s.Text = fmt.Sprintf("There is no decision %s %s.", control, place)
		s.Remedy = fmt.Sprintf("Record a compliant decision %s %s.", control, place)
		return
	case s.Outcome == MissingAttestation:
		s.Text = fmt.Sprintf("The latest decision %s %s is not named '%s', or there is none.", control, place, rule.Name)
		s.Remedy = fmt.Sprintf("Record a compliant decision %s under the name '%s' %s.", control, rule.Name, place)
		return
	case found == nil:
		s.Text = fmt.Sprintf("%s the %s is non-compliant.", flow.where(), rule.wanted())
	default:
		s.Text = fmt.Sprintf("The latest decision %s, '%s' in trail '%s' of flow '%s', is %s.",
			control, found.Name, found.Trail, found.Flow, evidence.Verdict(found.Compliant && s.Outcome != NonCompliantAttestation))
	}
	if s.Outcome == NonCompliantAttestation {
		s.Remedy = fmt.Sprintf("Record a compliant decision %s once it is fulfilled, or override the last one with a reason.", control)
		if rule.Separated {
			s.Remedy += " Whoever decides must have neither written nor approved the code."
		}
	}
}
