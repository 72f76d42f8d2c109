package resource

import (
	"attestry/evidence"
	"attestry/evidence/expression"
	"attestry/evidence/policy"
)

// PolicyEvaluation is what a policy says of an artifact (docs/semantics.md 18.3).
type PolicyEvaluation struct {
	PolicyVersion   int              `json:"policy_version"`
	Status          evidence.Status  `json:"status" enum:"COMPLIANT,NON-COMPLIANT"`
	RuleEvaluations []RuleEvaluation `json:"rule_evaluations"`
	PolicyName      string           `json:"policy_name"`
	RulesLeftOut    int              `json:"rules_left_out,omitempty" doc:"How many rules are not shown, as there are too many."`
	DetailsLeftOut  int              `json:"details_left_out,omitempty" doc:"How many failing resolutions are kept without what decided, as there were too many."`
}

// RuleEvaluation is what a rule of a policy says of an artifact.
type RuleEvaluation struct {
	Rule        PolicyRule       `json:"rule"`
	Satisfied   *bool            `json:"satisfied" nullable:"true" doc:"Null if the rule applies to no flow."`
	Ignored     bool             `json:"ignored" doc:"Whether the rule applies to no flow."`
	Resolutions []RuleResolution `json:"resolutions" doc:"One per flow that knows the artifact; one without a context if none does."`

	ResolutionsLeftOut int `json:"resolutions_left_out,omitempty" doc:"How many resolutions are not shown, as there are too many."`
}

// PolicyRule is a rule of a policy.
type PolicyRule struct {
	Type       policy.RuleKind `json:"type" enum:"provenance,trail-compliance,attestation"`
	Definition map[string]any  `json:"definition" doc:"The rule as the policy's file has it, with its defaults."`
}

// RuleResolution is what a rule says of an artifact in a flow.
type RuleResolution struct {
	Type    policy.Outcome            `json:"type" enum:"missing_attestation,non_compliant_attestation,non_compliant_in_trail,no_provenance,missing_provenance,legacy_flow,rule_satisfied,rule_not_applicable"`
	Context OrNull[ResolutionContext] `json:"context"`
}

// ResolutionContext names what a resolution is about.
type ResolutionContext struct {
	FlowName  string `json:"flow_name"`
	TrailName string `json:"trail_name"`
	// ArtifactStatus is the artifact's status in the trail, in rules on the compliance of
	// trails.
	ArtifactStatus  *evidence.Status `json:"artifact_status" nullable:"true"`
	ForControl      string           `json:"for_control,omitempty"`
	AttestationName string           `json:"attestation_name,omitempty" doc:"The attestation that is missing or not compliant."`
	AttestationType string           `json:"attestation_type,omitempty"`
	AttestationID   string           `json:"attestation_id,omitempty"`
}

// PolicyView shows how a policy evaluated artifacts. The rules of the policy are made once for
// all artifacts.
type PolicyView struct {
	policy.Applied
	rules []PolicyRule
	sizes []int // of the rules, in bytes
}

// NewPolicyViews makes a view of each policy.
func NewPolicyViews(applied []policy.Applied) []PolicyView {
	views := make([]PolicyView, 0, len(applied))
	for _, one := range applied {
		view := PolicyView{Applied: one}
		for number := range one.Policy.Rules() {
			rule := showRule(one.Policy, number)
			view.rules, view.sizes = append(view.rules, rule), append(view.sizes, sizeOf(&rule))
		}
		views = append(views, view)
	}
	return views
}

// Show shows how the policy evaluated an artifact that flows know. Rules that fail come first where
// not all fit in the list.
func (v *PolicyView) Show(evaluation policy.Evaluation, flows []policy.Flow, list *ReasonList) PolicyEvaluation {
	shown := PolicyEvaluation{
		PolicyVersion: v.Version, PolicyName: v.Name, Status: evidence.NonCompliant, RuleEvaluations: []RuleEvaluation{},
	}
	if evaluation.Compliant() {
		shown.Status = evidence.Compliant
	}
	fitting := make([]*RuleEvaluation, len(evaluation))
	for _, failing := range []bool{true, false} {
		for number, rule := range evaluation {
			if rule.Failing() == failing && list.take(v.sizes[number]) {
				fitting[number] = v.showRule(number, rule, flows, list)
			}
		}
	}
	for _, one := range fitting {
		if one == nil {
			shown.RulesLeftOut++
			continue
		}
		shown.RuleEvaluations = append(shown.RuleEvaluations, *one)
	}
	return shown
}

func (v *PolicyView) showRule(number int, rule policy.RuleEvaluation, flows []policy.Flow, list *ReasonList) *RuleEvaluation {
	shown := &RuleEvaluation{Rule: v.rules[number], Ignored: rule.Ignored(), Resolutions: []RuleResolution{}}
	if !shown.Ignored {
		shown.Satisfied = new(!rule.Failing())
	}
	_, _, attestation := v.Policy.Rule(number)
	for i := range rule.Resolutions {
		if list.take(resolutionSize(&rule.Resolutions[i], flows, attestation)) {
			shown.Resolutions = append(shown.Resolutions, showResolution(v.Policy, number, rule.Resolutions[i], flows))
		} else {
			shown.ResolutionsLeftOut++
		}
	}
	return shown
}

// Failing adds to shown which resolutions keep an artifact from being compliant. flow limits them to
// those about one flow, by its number; policy.NoFlow stands for all. It returns how many do not fit
// in the list.
func (v *PolicyView) Failing(shown *[]RuleResolution, evaluation policy.Evaluation, flows []policy.Flow, flow int, list *ReasonList) (leftOut int) {
	for number, rule := range evaluation {
		_, _, attestation := v.Policy.Rule(number)
		for i := range rule.Resolutions {
			resolution := &rule.Resolutions[i]
			switch {
			case !resolution.Outcome.Failing() || flow != policy.NoFlow && flow != resolution.Flow:
			case list.take(resolutionSize(resolution, flows, attestation)):
				*shown = append(*shown, showResolution(v.Policy, number, *resolution, flows))
			default:
				leftOut++
			}
		}
	}
	return leftOut
}

func showResolution(p *policy.Policy, number int, resolution policy.Resolution, flows []policy.Flow) RuleResolution {
	shown := RuleResolution{Type: resolution.Outcome}
	if resolution.Flow == policy.NoFlow {
		return shown
	}
	kind, _, rule := p.Rule(number)
	flow := &flows[resolution.Flow]
	context := ResolutionContext{FlowName: flow.Name, TrailName: flow.Trail}
	if kind == policy.TrailComplianceRule {
		context.ArtifactStatus = &flow.Status
	}
	if rule != nil {
		context.ForControl = rule.ForControl
	}
	switch found := resolution.Attestation; {
	case !resolution.Outcome.Failing() || rule == nil:
	case found != nil:
		context.AttestationName, context.AttestationType, context.AttestationID = found.Name, found.Type, found.ID
	default:
		context.AttestationName, context.AttestationType = rule.Name, rule.Type
	}
	shown.Context.Value = &context
	return shown
}

func showRule(p *policy.Policy, number int) PolicyRule {
	kind, requirement, rule := p.Rule(number)
	shown := PolicyRule{Type: kind}
	if requirement != nil {
		exceptions := []map[string]any{}
		for _, exception := range requirement.Exceptions {
			exceptions = append(exceptions, map[string]any{"if": showCondition(exception)})
		}
		shown.Definition = map[string]any{"required": requirement.Required, "exceptions": exceptions}
		return shown
	}
	shown.Definition = map[string]any{
		"if": showCondition(rule.If), "name": rule.Name, "type": rule.Type, "must_be_compliant": rule.MustBeCompliant,
	}
	if rule.ForControl != "" {
		shown.Definition["for_control"] = rule.ForControl
	}
	return shown
}

// PolicyDump shows a policy with the internal names that the public API uses for it beside
// snapshots.
func PolicyDump(p *policy.Policy) map[string]any {
	attestations := []map[string]any{}
	for i := range p.Attestations {
		rule := &p.Attestations[i]
		one := map[string]any{
			"if_condition": showCondition(rule.If), "name": rule.Name, "type": rule.Type, "must_be_compliant": rule.MustBeCompliant,
		}
		if rule.ForControl != "" {
			one["for_control"] = rule.ForControl
		}
		attestations = append(attestations, one)
	}
	return map[string]any{"schema_version": "1", "artifacts": map[string]any{
		"provenance": dumpRequirement(&p.Provenance), "trail_compliance": dumpRequirement(&p.TrailCompliance), "attestations": attestations,
	}}
}

func dumpRequirement(requirement *policy.Requirement) map[string]any {
	exceptions := []map[string]any{}
	for _, exception := range requirement.Exceptions {
		exceptions = append(exceptions, map[string]any{"if_condition": showCondition(exception)})
	}
	return map[string]any{"required": requirement.Required, "exceptions": exceptions}
}

// showCondition shows a condition, nil if there is none.
func showCondition(condition *expression.Expression) any {
	if condition == nil {
		return nil
	}
	return map[string]any{"text": condition.Text}
}
