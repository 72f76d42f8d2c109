package resource

import (
	"encoding/json"
	"fmt"

	"attestry/evidence"
	"attestry/evidence/expression"
	"attestry/evidence/policy"
	"attestry/links"
)

// PolicyEvaluation is the evaluation of a policy for an artifact (docs/semantics.md 18.3).
type PolicyEvaluation struct {
	PolicyVersion   int              `json:"policy_version"`
	Status          evidence.Status  `json:"status" enum:"COMPLIANT,NON-COMPLIANT"`
	RuleEvaluations []RuleEvaluation `json:"rule_evaluations"`
	PolicyName      string           `json:"policy_name"`
	RulesLeftOut    int              `json:"rules_left_out,omitempty" doc:"How many rules are not shown, as there are too many."`
	DetailsLeftOut  int              `json:"details_left_out,omitempty" doc:"How many failing resolutions are kept without what decided, as there were too many."`
}

// RuleEvaluation is the evaluation of a rule of a policy for an artifact.
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

// RuleResolution is the outcome of a rule for an artifact in a flow.
type RuleResolution struct {
	Type    policy.Outcome            `json:"type" enum:"missing_attestation,non_compliant_attestation,non_compliant_in_trail,no_provenance,missing_provenance,legacy_flow,rule_satisfied,rule_not_applicable"`
	Context OrNull[ResolutionContext] `json:"context"`
}

// ResolutionContext names the flow, trail, control and attestation of a resolution.
type ResolutionContext struct {
	FlowName  string `json:"flow_name"`
	TrailName string `json:"trail_name"`
	// ArtifactStatus is the artifact's status in the trail; only rules on the compliance of trails have it.
	ArtifactStatus  *evidence.Status `json:"artifact_status" nullable:"true"`
	ForControl      string           `json:"for_control,omitempty"`
	AttestationName string           `json:"attestation_name,omitempty" doc:"The attestation that is missing or not compliant."`
	AttestationType string           `json:"attestation_type,omitempty"`
	AttestationID   string           `json:"attestation_id,omitempty"`
	Error           string           `json:"error,omitempty" doc:"Why a condition of the rule cannot be evaluated. The rule fails for this reason, and nothing need be missing."`
}

// PolicyView shows how a policy evaluated artifacts. All artifacts share its rules.
type PolicyView struct {
	policy.Applied
	rules     []PolicyRule
	ruleSizes []int // in bytes
}

// NewPolicyViews makes a view of each policy.
func NewPolicyViews(applied []policy.Applied) []PolicyView {
	return Map(applied, func(one *policy.Applied) PolicyView {
		view := PolicyView{Applied: *one}
		for number := range one.Policy.Rules() {
			rule := showRule(one.Policy, number)
			encoded, _ := json.Marshal(rule) // texts, numbers and booleans
			view.rules, view.ruleSizes = append(view.rules, rule), append(view.ruleSizes, len(encoded))
		}
		return view
	})
}

// Show shows how the policy evaluated an artifact of these flows. Failing rules have precedence if not all fit.
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
			if rule.Failing() == failing && list.reserve(v.ruleSizes[number]) {
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
		if list.reserve(resolutionSize(&rule.Resolutions[i], flows, attestation)) {
			shown.Resolutions = append(shown.Resolutions, showResolution(v.Policy, number, rule.Resolutions[i], flows))
		} else {
			shown.ResolutionsLeftOut++
		}
	}
	return shown
}

// Failing appends to shown the resolutions that make an artifact non-compliant: those about the flow with this number,
// or all for policy.NoFlow. It returns how many do not fit in the list.
func (v *PolicyView) Failing(shown *[]RuleResolution, evaluation policy.Evaluation, flows []policy.Flow, flow int, list *ReasonList) (leftOut int) {
	for number, rule := range evaluation {
		_, _, attestation := v.Policy.Rule(number)
		for i := range rule.Resolutions {
			resolution := &rule.Resolutions[i]
			switch {
			case !resolution.Outcome.Failing() || flow != policy.NoFlow && flow != resolution.Flow:
			case list.reserve(resolutionSize(resolution, flows, attestation)):
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
	context := ResolutionContext{FlowName: flow.Name, TrailName: flow.Trail, Error: resolution.Fault}
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
	if requirement != nil {
		return PolicyRule{Type: kind, Definition: showRequirement(requirement, "if")}
	}
	return PolicyRule{Type: kind, Definition: showAttestationRule(rule, "if")}
}

// PolicyDump shows a policy with the names that its members have in snapshots.
func PolicyDump(p *policy.Policy) map[string]any {
	attestations := Map(p.Attestations, func(rule *policy.AttestationRule) map[string]any { return showAttestationRule(rule, "if_condition") })
	return map[string]any{"schema_version": "1", "artifacts": map[string]any{
		"provenance":       showRequirement(&p.Provenance, "if_condition"),
		"trail_compliance": showRequirement(&p.TrailCompliance, "if_condition"), "attestations": attestations,
	}}
}

// showRequirement shows a requirement. name is the name of the member for the condition of an exception.
func showRequirement(requirement *policy.Requirement, name string) map[string]any {
	exceptions := Map(requirement.Exceptions, func(e **expression.Expression) map[string]any { return map[string]any{name: showCondition(*e)} })
	return map[string]any{"required": requirement.Required, "exceptions": exceptions}
}

// showAttestationRule shows a rule. name is the name of the member for its condition.
func showAttestationRule(rule *policy.AttestationRule, name string) map[string]any {
	shown := map[string]any{
		name: showCondition(rule.If), "name": rule.Name, "type": rule.Type, "must_be_compliant": rule.MustBeCompliant,
		"for_control": NilIfEmpty(rule.ForControl),
	}
	if rule.Independent != nil {
		shown["independent_approval"] = rule.Independent
	}
	if rule.Separated {
		shown["separation_of_duties"] = true
	}
	return shown
}

func showCondition(condition *expression.Expression) any {
	if condition == nil {
		return nil
	}
	return map[string]any{"text": condition.Text}
}

// Explanation says in English why an artifact is compliant or not, for one rule and flow (docs/semantics.md 18.8).
type Explanation struct {
	Cause         string                `json:"cause" doc:"The type of the resolution, or allow_listed or no_policies."`
	Failing       bool                  `json:"failing" doc:"Whether it keeps the artifact from being compliant."`
	Text          string                `json:"text"`
	Finding       string                `json:"finding,omitempty" doc:"What the text says of why attestations have their verdicts."`
	Remedy        *string               `json:"remedy" nullable:"true" doc:"What would make it compliant; null if nothing is wrong."`
	PolicyName    *string               `json:"policy_name" nullable:"true"`
	PolicyVersion *int                  `json:"policy_version" nullable:"true"`
	Rule          *int                  `json:"rule" nullable:"true" doc:"Number of the rule in the policy's evaluation, from 0."`
	FlowName      *string               `json:"flow_name" nullable:"true"`
	TrailName     *string               `json:"trail_name" nullable:"true"`
	Attestation   *ExplainedAttestation `json:"attestation,omitempty" doc:"The attestation that decided."`
	Control       *string               `json:"control" nullable:"true"`
	Links         map[string]string     `json:"links" doc:"Addresses of what is named, by flow, trail, attestation, policy, control and environment."`
}

// ExplainAllowance is Explain for an artifact that was on the allow list at a time in Unix seconds: it says who allowed
// it, when and why. The allow list does not keep a permission that was repeated after that time.
func ExplainAllowance(l links.Links, org evidence.OrgAccess, environment string, allowance *evidence.Allowance, at float64, list *ReasonList) (explained []Explanation, leftOut int) {
	until := ""
	if allowance.ExpiresAt != 0 {
		until = " until " + minuteOf(allowance.ExpiresAt)
	}
	one := Explanation{
		Cause: "allow_listed", Links: map[string]string{"environment": l.Environment(org.OrgName, environment)},
		Text: fmt.Sprintf("'%s' has allowed the artifact in environment '%s' on %s%s, whatever policies say: %s",
			allowance.UserName, environment, minuteOf(allowance.At), until, allowance.Description),
	}
	if allowance.At > at {
		one.Text = fmt.Sprintf("The artifact was allowed in environment '%s', whatever policies say. '%s' has replaced the permission since, on %s%s: %s",
			environment, allowance.UserName, minuteOf(allowance.At), until, allowance.Description)
	}
	if !list.reserve(one.size()) {
		return nil, 1
	}
	return []Explanation{one}, 0
}

func minuteOf(seconds float64) string {
	return evidence.Time(seconds).Format("2006-01-02 at 15:04 UTC")
}

// ExplainedAttestation is the attestation that decided the outcome of a rule.
type ExplainedAttestation struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Type string `json:"type"`
}

// Explain explains how a policy evaluated an artifact: the resolutions that fail, or those that do not. It also returns
// how many explanations do not fit in the list.
func Explain(l links.Links, org evidence.OrgAccess, applied *policy.Applied, evaluation policy.Evaluation, facts *policy.Facts, failing bool, list *ReasonList) (explained []Explanation, leftOut int) {
	for number, rule := range evaluation {
		for _, resolution := range rule.Resolutions {
			if resolution.Outcome.Failing() != failing {
				continue
			}
			if !list.full {
				if one := explain(l, org, applied, number, resolution, facts); list.reserve(one.size()) {
					explained = append(explained, one)
					continue
				}
			}
			leftOut++
		}
	}
	return explained, leftOut
}

func explain(l links.Links, org evidence.OrgAccess, applied *policy.Applied, number int, resolution policy.Resolution, facts *policy.Facts) Explanation {
	sentence := applied.Policy.Explain(number, resolution, facts)
	shown := Explanation{
		Cause: string(sentence.Outcome), Failing: sentence.Outcome.Failing(), Text: sentence.Full(), Finding: sentence.Finding, Remedy: NilIfEmpty(sentence.Remedy),
		PolicyName: &applied.Name, PolicyVersion: &applied.Version, Rule: &number,
		Links: map[string]string{"policy": l.PolicySelf(org.OrgName, applied.Name)},
	}
	if resolution.Flow != policy.NoFlow {
		flow := &facts.Flows[resolution.Flow]
		shown.FlowName, shown.TrailName = &flow.Name, &flow.Trail
		shown.Links["flow"], shown.Links["trail"] = l.Flow(org.OrgName, flow.Name), l.Trail(org.OrgName, flow.Name, flow.Trail)
	}
	if _, _, rule := applied.Policy.Rule(number); rule != nil && rule.ForControl != "" {
		shown.Control = &rule.ForControl
		shown.Links["control"] = l.ControlSelf(org.OrgName, rule.ForControl)
	}
	if found := resolution.Attestation; found != nil && found.ID != "" {
		shown.Attestation = &ExplainedAttestation{ID: found.ID, Name: found.Name, Type: found.Type}
		flow := found.Flow // its name when the artifact was evaluated
		if shown.FlowName != nil && shown.Control == nil {
			flow = *shown.FlowName
		}
		shown.Links["attestation"] = l.Attestation(org.OrgName, flow, found.Trail, found.ID)
	}
	return shown
}

const (
	// maxListedReasons bounds each artifact's list of reasons in an answer about many artifacts, MaxReasons the list in
	// an answer about one artifact. Both are in bytes.
	maxListedReasons = 128 << 10
	MaxReasons       = 1 << 20
	// resolutionFrame and explanationFrame are the approximate sizes of a resolution and an explanation in JSON without
	// the names and texts in them, in bytes.
	resolutionFrame  = 200
	explanationFrame = 350
)

// Reasons is how many bytes an answer may still use for the reasons of verdicts (docs/semantics.md 18.10). The verdicts
// do not depend on it.
type Reasons struct{ left int }

// NewReasons returns the bound of an answer about many artifacts.
func NewReasons(bytes int) *Reasons { return &Reasons{left: bytes} }

// Left returns how many bytes are left.
func (r *Reasons) Left() int { return r.left }

// List returns the bound of one list in the answer.
func (r *Reasons) List() *ReasonList { return &ReasonList{reasons: r, left: maxListedReasons} }

// OneList returns the bound of the only list of an answer.
func OneList() *ReasonList {
	return &ReasonList{reasons: NewReasons(MaxReasons), left: MaxReasons}
}

// ReasonList bounds a list, or several lists together. After the first item that does not fit, it is full.
type ReasonList struct {
	reasons *Reasons
	left    int
	full    bool
}

// reserve reserves bytes for an item, and reports whether it fits.
func (l *ReasonList) reserve(bytes int) bool {
	if l.full = l.full || bytes > min(l.left, l.reasons.left); l.full {
		return false
	}
	l.left -= bytes
	l.reasons.left -= bytes
	return true
}

// resolutionSize returns the approximate size of a resolution in an answer, in bytes.
func resolutionSize(resolution *policy.Resolution, flows []policy.Flow, rule *policy.AttestationRule) int {
	size := resolutionFrame + len(resolution.Fault)
	if resolution.Flow != policy.NoFlow {
		size += len(flows[resolution.Flow].Name) + len(flows[resolution.Flow].Trail)
	}
	if rule != nil {
		size += len(rule.Name) + len(rule.Type) + len(rule.ForControl)
	}
	if found := resolution.Attestation; found != nil {
		size += len(found.ID) + len(found.Name) + len(found.Type)
	}
	return size
}

// size returns the approximate size of an explanation in an answer, in bytes.
func (e *Explanation) size() int {
	size := explanationFrame + len(e.Text) + len(e.Finding)
	for _, text := range []*string{e.Remedy, e.PolicyName, e.FlowName, e.TrailName, e.Control} {
		if text != nil {
			size += len(*text)
		}
	}
	if e.Attestation != nil {
		size += len(e.Attestation.ID) + len(e.Attestation.Name) + len(e.Attestation.Type)
	}
	for _, link := range e.Links {
		size += len(link)
	}
	return size
}
