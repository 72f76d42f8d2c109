package policy_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"attestry/evidence/control"
	"attestry/evidence/evidencetest"
	"attestry/evidence/policy"
	"attestry/scripts/fixturestest"
)

// publishedSchema returns the JSON Schema of policies that the service serves.
func publishedSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	content, err := os.ReadFile("../../api/schemas/environment-policy.v1.json")
	evidencetest.Must(t, err)
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(string(content)))
	evidencetest.Must(t, err)
	compiler := jsonschema.NewCompiler()
	evidencetest.Must(t, compiler.AddResource("attestry://schema", parsed))
	schema, err := compiler.Compile("attestry://schema")
	evidencetest.Must(t, err)
	return schema
}

// fits validates a YAML file against a schema.
func fits(t *testing.T, schema *jsonschema.Schema, content string) error {
	t.Helper()
	var value any
	evidencetest.Must(t, yaml.Unmarshal([]byte(content), &value))
	return schema.Validate(value)
}

func TestPublishedSchemaAcceptsPolicies(t *testing.T) {
	schema := publishedSchema(t)
	rule := func(rule string) string { return head + "artifacts: {attestations: [" + rule + "]}" }
	for name, content := range map[string]string{
		"the fixture":                string(fixturestest.Read("policy-production.yml")),
		"nothing but the schema":     head,
		"another address":            "_schema: https://docs.kosli.com/schemas/policy/v1",
		"an address with a query":    "_schema: https://docs.kosli.com/v1?a=b#c",
		"an address with a port":     "_schema: http://localhost:8080/v1",
		"an empty mapping":           head + "artifacts: {}",
		"empty rules":                head + "artifacts: {provenance: {}, trail-compliance: {exceptions: []}, attestations: []}",
		"approvals of all":           rule("{type: pull_request, independent_approval: {approvers: 2, since_last_release: true}}"),
		"an expression in a mapping": rule("{type: 'custom:my scan', if: {text: ' true '}, for_control: null}"),
		"nulls":                      rule("{type: generic, if: null, for_control: null}"),
		"a name of any type":         rule("{type: '*', name: scan}"),
		"a type of any name":         rule("{type: junit, name: '*', must_be_compliant: false}"),
		"independent approval":       rule("{type: pull_request, independent_approval: true}"),
		"no approval required":       rule("{type: junit, independent_approval: false}"),
		"many approvers":             rule("{type: pull_request, independent_approval: {approvers: 20, machine_accounts: ['a|b']}}"),
		"a decision":                 rule("{type: decision, for_control: " + strings.Repeat("c", control.MaxIdentifier) + "}"),
		"the longest custom type":    rule("{type: 'custom:" + strings.Repeat("c", 255) + "'}"),
	} {
		t.Run(name, func(t *testing.T) {
			parsePolicy(t, content)
			evidencetest.Check(t, fits(t, schema, content))
		})
	}
}

// A JSON Schema cannot check the text of a condition, so the published one accepts any.
func TestPublishedSchemaRefusesWhatTheGrammarRefuses(t *testing.T) {
	schema := publishedSchema(t)
	rule := func(rule string) string { return head + "artifacts: {attestations: [" + rule + "]}" }
	requirement := func(requirement string) string {
		return head + "artifacts: {provenance: " + requirement + "}"
	}
	for name, content := range map[string]string{
		"null":                       "null",
		"a list":                     "- 1",
		"no schema":                  "artifacts: {}",
		"another version":            "_schema: https://kosli.com/schemas/policy/environment/v2",
		"a schema that is no URL":    "_schema: /v1",
		"a schema without a host":    "_schema: kosli.com/v1",
		"a version in the query":     "_schema: https://kosli.com/v2?/v1",
		"a schema that is a number":  "_schema: 1",
		"unknown key":                head + "environments: []",
		"unknown rule":               head + "artifacts: {trail_compliance: {}}",
		"null rules":                 head + "artifacts: null",
		"null requirement":           requirement("null"),
		"text for a boolean":         requirement("{required: 'yes'}"),
		"null for a boolean":         requirement("{required: null}"),
		"null exceptions":            requirement("{exceptions: null}"),
		"exception without if":       requirement("{exceptions: [{}]}"),
		"exception with null":        requirement("{exceptions: [{if: null}]}"),
		"exception with another key": requirement("{exceptions: [{if: '${{ true }}', name: x}]}"),
		"too many exceptions":        requirement("{exceptions: [" + strings.Repeat("{if: '${{ true }}'},", policy.MaxRules+1) + "]}"),
		"unknown key in it":          requirement("{require: true}"),
		"null attestations":          head + "artifacts: {attestations: null}",
		"attestations in a mapping":  head + "artifacts: {attestations: {}}",
		"too many attestations":      rule(strings.Repeat("{type: junit},", policy.MaxRules+1)),
		"no type":                    rule("{name: scan}"),
		"null type":                  rule("{type: null}"),
		"type with a hyphen":         rule("{type: pull-request}"),
		"stored type of decisions":   rule("{type: 'system:decision'}"),
		"long custom type":           rule("{type: 'custom:" + strings.Repeat("c", 256) + "'}"),
		"custom type of two lines":   rule(`{type: "custom:a\nb"}`),
		"both wildcards":             rule("{type: '*', name: '*'}"),
		"both wildcards by default":  rule("{type: '*'}"),
		"exceptions of a rule":       rule("{type: snyk, exceptions: []}"),
		"empty name":                 rule("{type: snyk, name: ''}"),
		"long name":                  rule("{type: snyk, name: " + strings.Repeat("n", 256) + "}"),
		"number for a name":          rule("{type: snyk, name: 1}"),
		"null name":                  rule("{type: snyk, name: null}"),
		"null must_be_compliant":     rule("{type: snyk, must_be_compliant: null}"),
		"control of another type":    rule("{type: snyk, for_control: C-1}"),
		"control of any type":        rule("{type: '*', name: n, for_control: C-1}"),
		"empty control":              rule("{type: decision, for_control: ''}"),
		"long control":               rule("{type: decision, for_control: " + strings.Repeat("c", control.MaxIdentifier+1) + "}"),
		"condition without braces":   rule("{type: snyk, if: exists(flow)}"),
		"condition that is a bool":   rule("{type: snyk, if: true}"),
		"condition in a list":        rule("{type: snyk, if: ['${{ true }}']}"),
		"expression without text":    rule("{type: snyk, if: {}}"),
		"expression with more keys":  rule("{type: snyk, if: {text: 'true', lang: x}}"),
		"approval of tests":          rule("{type: junit, independent_approval: true}"),
		"no approvers":               rule("{type: pull_request, independent_approval: {approvers: 0}}"),
		"half an approver":           rule("{type: pull_request, independent_approval: {approvers: 0.5}}"),
		"approval as a text":         rule("{type: pull_request, independent_approval: 'true'}"),
		"approval with other keys":   rule("{type: pull_request, independent_approval: {approver: 1}}"),
		"an account for a list":      rule("{type: pull_request, independent_approval: {machine_accounts: x}}"),
		"empty expression":           rule("{type: snyk, if: {text: ''}}"),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := policy.Parse([]byte(content)); err == nil {
				t.Error("the grammar accepts it")
			}
			if fits(t, schema, content) == nil {
				t.Error("the schema accepts it")
			}
		})
	}
	for _, kind := range []string{"generic", "junit", "snyk", "pull_request", "jira", "sonar", "decision"} {
		t.Run(kind, func(t *testing.T) {
			content := rule(fmt.Sprintf("{type: %s}", kind))
			parsePolicy(t, content)
			evidencetest.Check(t, fits(t, schema, content))
		})
	}
}
