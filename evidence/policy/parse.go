package policy

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"attestry/evidence"
	"attestry/evidence/attestation"
	"attestry/evidence/control"
	"attestry/evidence/expression"
	"attestry/evidence/pattern"
	"attestry/evidence/yamlfile"
)

// MaxRules is how many attestation rules and exceptions a policy may have. Each is evaluated for every artifact.
const MaxRules = 1000

// types are those that a rule may name, beside custom:<name>.
var types = append(attestation.Names(), Any)

var format = yamlfile.Format{Name: "Policy", Columns: true}

// MaxPatterns is what the compiled regular expressions of a new policy may take up together, estimated, in bytes.
const MaxPatterns = 8 << 20

// Parse reads a policy file. What is wrong with it is a *yamlfile.Error, which is meant for
// whoever wrote it. Whether the controls exist is for the caller to check.
func Parse(content []byte) (Policy, error) { return parse(content, MaxPatterns) }

// ParseStored reads a policy file that was accepted before, perhaps when patterns were not bounded.
func ParseStored(content []byte) (Policy, error) { return parse(content, math.MaxInt) }

func parse(content []byte, maxPatterns int) (Policy, error) {
	root, err := format.Load(content)
	if err != nil {
		return Policy{}, err
	}
	r := &reader{Reader: format.NewReader(), patterns: expression.NewPatterns(maxPatterns)}
	parsed := r.policy(root)
	parsed.PatternSize = r.patterns.Size()
	return parsed, r.Err()
}

// reader takes a policy from a YAML tree.
type reader struct {
	*yamlfile.Reader
	patterns *pattern.Set
	rules    int
}

func (r *reader) policy(node *yaml.Node) Policy {
	fields, ok := r.Mapping(node, "", "Policy", "_schema", "artifacts")
	if !ok {
		return Policy{}
	}
	r.schema(node, fields["_schema"])
	if fields["artifacts"] == nil {
		return Policy{}
	}
	rules, _ := r.Mapping(fields["artifacts"], "artifacts", "Artifacts", "provenance", "trail-compliance", "attestations")
	return Policy{
		Provenance:      r.requirement(rules["provenance"], "artifacts.provenance"),
		TrailCompliance: r.requirement(rules["trail-compliance"], "artifacts.trail-compliance"),
		Attestations:    r.attestations(rules["attestations"], "artifacts.attestations"),
	}
}

// schema checks the address of the grammar, which ends in its version.
func (r *reader) schema(root, node *yaml.Node) {
	text, ok := r.Text(root, node, "_schema")
	if !ok {
		return
	}
	address, err := url.Parse(text)
	if err != nil || address.Host == "" || !strings.HasSuffix(address.Path, "/v1") {
		r.Fault(node, "_schema", "Input should be a URL whose path ends in /v1"+yamlfile.Shown(text))
	}
}

func (r *reader) requirement(node *yaml.Node, at string) Requirement {
	if node == nil {
		return Requirement{}
	}
	fields, _ := r.Mapping(node, at, "Requirement", "required", "exceptions")
	requirement := Requirement{Required: r.Bool(fields["required"], yamlfile.Member(at, "required"), false)}
	at = yamlfile.Member(at, "exceptions")
	for i, one := range r.List(fields["exceptions"], at) {
		where := yamlfile.Item(at, i)
		exception, ok := r.Mapping(one, where, "Exception", "if")
		if !ok || !r.another(one, where) {
			continue
		}
		if exception["if"] == nil {
			r.Fault(one, yamlfile.Member(where, "if"), yamlfile.FieldRequired)
			continue
		}
		if condition := r.condition(exception["if"], yamlfile.Member(where, "if")); condition != nil {
			requirement.Exceptions = append(requirement.Exceptions, condition)
		}
	}
	return requirement
}

func (r *reader) attestations(node *yaml.Node, at string) []AttestationRule {
	var rules []AttestationRule
	for i, one := range r.List(node, at) {
		where := yamlfile.Item(at, i)
		fields, ok := r.Mapping(one, where, "Attestation", "type", "name", "if", "must_be_compliant", "for_control")
		if ok && r.another(one, where) {
			rules = append(rules, r.attestation(one, fields, where))
		}
	}
	return rules
}

func (r *reader) attestation(entry *yaml.Node, fields map[string]*yaml.Node, at string) AttestationRule {
	rule := AttestationRule{
		Type:            r.attestationType(entry, fields["type"], yamlfile.Member(at, "type")),
		Name:            r.attestationName(fields["name"], yamlfile.Member(at, "name")),
		MustBeCompliant: r.Bool(fields["must_be_compliant"], yamlfile.Member(at, "must_be_compliant"), true),
	}
	if named := fields["for_control"]; !yamlfile.Absent(r.Resolve(named, yamlfile.Member(at, "for_control"))) {
		rule.ForControl = r.boundedText(named, yamlfile.Member(at, "for_control"), control.MaxIdentifier)
	}
	if condition := fields["if"]; !yamlfile.Absent(r.Resolve(condition, yamlfile.Member(at, "if"))) {
		rule.If = r.condition(condition, yamlfile.Member(at, "if"))
	}
	if rule.Type == Any && rule.Name == Any {
		r.Fault(entry, at, "Value error, name and type cannot both be '*'")
	}
	if rule.ForControl != "" && rule.Type != DecisionType {
		r.Fault(fields["for_control"], yamlfile.Member(at, "for_control"), "Value error, for_control needs the type 'decision'")
	}
	return rule
}

func (r *reader) attestationType(entry, node *yaml.Node, at string) string {
	kind, ok := r.Text(entry, node, at)
	custom := strings.HasPrefix(kind, evidence.CustomPrefix) && !strings.Contains(kind, "\n")
	switch {
	case !ok:
	case utf8.RuneCountInString(strings.TrimPrefix(kind, evidence.CustomPrefix)) > evidence.MaxResourceName:
		r.tooLong(node, at, kind, evidence.MaxResourceName)
	case !custom && !slices.Contains(types, kind):
		r.Fault(node, at, "Input should be '"+strings.Join(types, "', '")+"' or match pattern '^custom:.*$'"+yamlfile.Shown(kind))
	}
	return kind
}

func (r *reader) attestationName(node *yaml.Node, at string) string {
	if node == nil {
		return Any
	}
	return r.boundedText(node, at, evidence.MaxResourceName)
}

// boundedText reads a text of 1 to most characters.
func (r *reader) boundedText(node *yaml.Node, at string, most int) string {
	text, ok := r.Text(node, node, at)
	switch {
	case !ok:
	case text == "":
		r.Fault(node, at, "String should have at least 1 character"+yamlfile.Shown(text))
	case utf8.RuneCountInString(text) > most:
		r.tooLong(node, at, text, most)
	}
	return text
}

func (r *reader) tooLong(node *yaml.Node, at, text string, most int) {
	r.Fault(node, at, fmt.Sprintf("String should have at most %d characters", most)+yamlfile.Shown(text))
}

// condition reads an expression: a text in ${{ }}, or a mapping with the text without it.
func (r *reader) condition(node *yaml.Node, at string) *expression.Expression {
	value := r.Resolve(node, at)
	if value == nil {
		return nil
	}
	if value.Kind == yaml.MappingNode {
		fields, ok := r.Mapping(node, at, "Expression", "text")
		if !ok {
			return nil
		}
		inner := fields["text"]
		text, ok := r.Text(node, inner, yamlfile.Member(at, "text"))
		if !ok {
			return nil
		}
		return r.parse(inner, yamlfile.Member(at, "text"), text, strings.TrimSpace(text))
	}
	text, ok := r.Text(node, node, at)
	if !ok {
		return nil
	}
	inner, opened := strings.CutPrefix(strings.TrimSpace(text), "${{")
	inner, closed := strings.CutSuffix(inner, "}}")
	if !opened || !closed {
		r.Fault(node, at, "Input should be an expression in ${{ }}"+yamlfile.Shown(text))
		return nil
	}
	return r.parse(node, at, text, strings.TrimSpace(inner))
}

// parse parses the expression inner, a part of a text. Errors name columns of the text, as in the file.
func (r *reader) parse(node *yaml.Node, at, text, inner string) *expression.Expression {
	if r.patterns.Full() { // which is a fault already
		return nil
	}
	parsed, err := expression.Parse(inner, r.patterns)
	if fault, ok := errors.AsType[*expression.Error](err); ok {
		before, _, _ := strings.Cut(text, inner)
		column := utf8.RuneCountInString(before) + fault.Column
		r.Fault(node, at, fmt.Sprintf("Invalid expression at character %d: %s%s", column, fault.Reason, yamlfile.Shown(text)))
		return nil
	}
	return parsed
}

// another counts a rule or exception, of which a policy has a limited number.
func (r *reader) another(node *yaml.Node, at string) bool {
	r.rules++
	if r.rules == MaxRules+1 {
		r.Fault(node, at, fmt.Sprintf("A policy has at most %d attestation rules and exceptions", MaxRules))
	}
	return r.rules <= MaxRules
}
