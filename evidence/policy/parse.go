package policy

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"attestry/evidence"
	"attestry/evidence/control"
	"attestry/evidence/expression"
	"attestry/evidence/independent"
	"attestry/evidence/pattern"
	"attestry/evidence/yamlfile"
)

// MaxRules bounds the attestation rules and exceptions of a policy. Each is evaluated for every artifact.
const MaxRules = 1000

var format = yamlfile.Format{Name: "Policy", Columns: true}

// MaxPatterns bounds the estimated memory of a new policy's regular expressions, in bytes.
const MaxPatterns = 8 << 20

// Parse reads a policy file. Faults of the file are a *yamlfile.Error, which is for its author. The caller checks
// whether the controls exist.
func Parse(content []byte) (Policy, error) { return parse(content, MaxPatterns) }

// ParseStored reads a stored policy file, which may have been accepted before patterns were bounded.
func ParseStored(content []byte) (Policy, error) { return parse(content, math.MaxInt) }

func parse(content []byte, maxPatterns int) (Policy, error) {
	r := &reader{patterns: expression.NewPatterns(maxPatterns)}
	parsed, err := yamlfile.Parse(format, content, r.policy)
	parsed.PatternSize = r.patterns.Size()
	return parsed, err
}

// reader decodes a policy.
type reader struct {
	patterns *pattern.Set
	rules    int
}

func (r *reader) policy(root yamlfile.Value) Policy {
	fields, ok := root.Mapping("Policy", "_schema", "artifacts")
	if !ok {
		return Policy{}
	}
	// The URL of the grammar ends in its version.
	if text, ok := fields["_schema"].Text(); ok {
		address, err := url.Parse(text)
		if err != nil || address.Host == "" || !strings.HasSuffix(address.Path, "/v1") {
			fields["_schema"].Fault("Input should be a URL whose path ends in /v1" + yamlfile.Shown(text))
		}
	}
	if fields["artifacts"].Node == nil {
		return Policy{}
	}
	rules, _ := fields["artifacts"].Mapping("Artifacts", "provenance", "trail-compliance", "attestations")
	return Policy{
		Provenance:      r.requirement(rules["provenance"]),
		TrailCompliance: r.requirement(rules["trail-compliance"]),
		Attestations:    r.attestations(rules["attestations"]),
	}
}

func (r *reader) requirement(value yamlfile.Value) Requirement {
	if value.Node == nil {
		return Requirement{}
	}
	fields, _ := value.Mapping("Requirement", "required", "exceptions")
	requirement := Requirement{Required: fields["required"].Bool(false)}
	for _, one := range fields["exceptions"].List() {
		exception, ok := one.Mapping("Exception", "if")
		if !ok || !r.allowRule(one) {
			continue
		}
		if exception["if"].Node == nil {
			exception["if"].Fault(yamlfile.FieldRequired)
		} else if condition := r.condition(exception["if"]); condition != nil {
			requirement.Exceptions = append(requirement.Exceptions, condition)
		}
	}
	return requirement
}

func (r *reader) attestations(list yamlfile.Value) []AttestationRule {
	var rules []AttestationRule
	for _, one := range list.List() {
		fields, ok := one.Mapping("Attestation", "type", "name", "if", "must_be_compliant", "for_control", "independent_approval", "separation_of_duties")
		if ok && r.allowRule(one) {
			rules = append(rules, r.attestation(one, fields))
		}
	}
	return rules
}

func (r *reader) attestation(entry yamlfile.Value, fields map[string]yamlfile.Value) AttestationRule {
	rule := AttestationRule{Type: fields["type"].AttestationType(evidence.MaxResourceName), Name: Any}
	if name := fields["name"]; name.Node != nil {
		rule.Name = name.BoundedText(evidence.MaxResourceName)
	}
	rule.MustBeCompliant = fields["must_be_compliant"].Bool(true)
	if named := fields["for_control"]; !named.Resolve().IsAbsent() {
		rule.ForControl = named.BoundedText(control.MaxIdentifier)
	}
	if condition := fields["if"]; !condition.Resolve().IsAbsent() {
		rule.If = r.condition(condition)
	}
	rule.Independent = independent.Read(fields["independent_approval"], rule.Type, r.patterns, r.allowRule)
	rule.Separated = independent.ReadSeparation(fields["separation_of_duties"], rule.Type)
	if rule.Type == Any && rule.Name == Any {
		entry.Fault("Value error, name and type cannot both be '*'")
	}
	if rule.ForControl != "" && rule.Type != independent.DecisionType {
		fields["for_control"].Fault("Value error, for_control needs the type 'decision'")
	}
	return rule
}

// condition reads an expression: a text in ${{ }}, or a mapping whose text has none.
func (r *reader) condition(value yamlfile.Value) *expression.Expression {
	resolved := value.Resolve()
	if resolved.Node == nil {
		return nil
	}
	if resolved.Node.Kind == yaml.MappingNode {
		fields, ok := value.Mapping("Expression", "text")
		if !ok {
			return nil
		}
		text, ok := fields["text"].Text()
		if !ok {
			return nil
		}
		return r.parse(fields["text"], text, strings.TrimSpace(text))
	}
	text, ok := value.Text()
	if !ok {
		return nil
	}
	inner, opened := strings.CutPrefix(strings.TrimSpace(text), "${{")
	inner, closed := strings.CutSuffix(inner, "}}")
	if !opened || !closed {
		value.Fault("Input should be an expression in ${{ }}" + yamlfile.Shown(text))
		return nil
	}
	return r.parse(value, text, strings.TrimSpace(inner))
}

// parse parses the expression inner, which is a part of text. Errors have columns of text.
func (r *reader) parse(value yamlfile.Value, text, inner string) *expression.Expression {
	if r.patterns.Full() { // already reported as a fault
		return nil
	}
	parsed, err := expression.Parse(inner, r.patterns)
	if fault, ok := errors.AsType[*expression.Error](err); ok {
		before, _, _ := strings.Cut(text, inner)
		column := utf8.RuneCountInString(before) + fault.Column
		value.Fault(fmt.Sprintf("Invalid expression at character %d: %s%s", column, fault.Reason, yamlfile.Shown(text)))
		return nil
	}
	return parsed
}

// allowRule counts a rule or exception, and reports whether the number is within the limit.
func (r *reader) allowRule(value yamlfile.Value) bool {
	r.rules++
	if r.rules == MaxRules+1 {
		value.Fault(fmt.Sprintf("A policy has at most %d attestation rules and exceptions", MaxRules))
	}
	return r.rules <= MaxRules
}
