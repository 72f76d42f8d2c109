package policy_test

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"attestry/evidence/independent"
	"attestry/evidence/policy"
	"attestry/scripts/fixturestest"
)

const head = "_schema: https://kosli.com/schemas/policy/environment/v1\n"

func TestPolicyIsRead(t *testing.T) {
	parsed := parsePolicy(t, string(fixturestest.Read("policy-production.yml")))
	if !parsed.Provenance.Required || len(parsed.Provenance.Exceptions) != 1 || !parsed.TrailCompliance.Required || len(parsed.TrailCompliance.Exceptions) != 2 {
		t.Errorf("requirements %+v and %+v", parsed.Provenance, parsed.TrailCompliance)
	}
	if text := parsed.TrailCompliance.Exceptions[1].Text; text != `flow.tags.kind != "build"` {
		t.Errorf("the second exception is %s", text)
	}
	scan, decision := parsed.Attestations[0], parsed.Attestations[1]
	if scan.Name != "container-scan" || scan.Type != "snyk" || !scan.MustBeCompliant || scan.If == nil || scan.ForControl != "" {
		t.Errorf("the first rule is %+v", scan)
	}
	if decision.Name != policy.Any || decision.Type != independent.DecisionType || decision.ForControl != "RCTL-1866" || len(parsed.Attestations) != 2 {
		t.Errorf("the second rule is %+v", decision)
	}
	if controls := parsed.Controls(); !reflect.DeepEqual(controls, []string{"RCTL-1866"}) {
		t.Errorf("controls %q", controls)
	}
}

func TestOmittedPartsOfAPolicyHaveDefaults(t *testing.T) {
	for name, content := range map[string]string{
		"nothing but the schema": head,
		"an empty mapping":       head + "artifacts: {}\n",
		"empty rules":            head + "artifacts: {provenance: {}, trail-compliance: {exceptions: []}, attestations: []}\n",
		"another address":        "_schema: https://docs.kosli.com/schemas/policy/v1\n",
	} {
		t.Run(name, func(t *testing.T) {
			parsed := parsePolicy(t, content)
			if parsed.Provenance.Required || parsed.TrailCompliance.Required || len(parsed.Attestations) != 0 {
				t.Errorf("parsed %+v", parsed)
			}
		})
	}
	rule := parsePolicy(t, head+"artifacts: {attestations: [{type: 'custom:my scan', if: {text: ' true '}, for_control: null}]}").Attestations[0]
	if rule.Name != policy.Any || !rule.MustBeCompliant || rule.If.Text != "true" || rule.ForControl != "" {
		t.Errorf("rule %+v", rule)
	}
}

func TestFaultyPoliciesAreRefusedWithLocationAndExpectation(t *testing.T) {
	const types = "Input should be 'generic', 'junit', 'snyk', 'pull_request', 'jira', 'sonar', 'decision', '*' or match pattern '^custom:.*$' "
	for name, c := range map[string]struct{ content, want string }{
		"an empty file": {"", "(line 1)\n  Input should be a valid dictionary or instance of Policy [input: None]"},
		"a list":        {"- 1", "(line 1, column 1)\n  Input should be a valid dictionary or instance of Policy"},
		"no schema":     {"artifacts: {}", "_schema (line 1, column 1)\n  Field required"},
		"a schema of another version": {"_schema: https://kosli.com/schemas/policy/environment/v2",
			"_schema (line 1, column 10)\n  Input should be a URL whose path ends in /v1 [input: https://kosli.com/schemas/policy/environment/v2]"},
		"a schema that is no URL": {"_schema: /v1", "_schema (line 1, column 10)\n  Input should be a URL whose path ends in /v1 [input: /v1]"},
		"an unknown key":          {head + "environments: []", "environments (line 2, column 1)\n  Extra inputs are not permitted"},
		"an unknown rule":         {head + "artifacts:\n  trail_compliance: {}", "artifacts.trail_compliance (line 3, column 3)\n  Extra inputs are not permitted"},
		"a text for a boolean": {head + "artifacts: {provenance: {required: 'yes'}}",
			"artifacts.provenance.required (line 2, column 36)\n  Input should be a valid boolean [input: yes]"},
		"an exception without a condition": {head + "artifacts: {provenance: {exceptions: [{}]}}",
			"artifacts.provenance.exceptions.0.if (line 2, column 39)\n  Field required"},
		"an exception that is null": {head + "artifacts: {provenance: {exceptions: [{if: }]}}",
			"artifacts.provenance.exceptions.0.if (line 2, column 44)\n  Input should be a valid string [input: None]"},
		"exceptions of an attestation": {head + "artifacts: {attestations: [{type: snyk, exceptions: []}]}",
			"artifacts.attestations.0.exceptions (line 2, column 41)\n  Extra inputs are not permitted"},
		"a rule without a type":       {head + "artifacts: {attestations: [{name: scan}]}", "artifacts.attestations.0.type (line 2, column 28)\n  Field required"},
		"the type with a hyphen":      {head + "artifacts: {attestations: [{type: pull-request}]}", "artifacts.attestations.0.type (line 2, column 35)\n  " + types + "[input: pull-request]"},
		"the name of decisions in it": {head + "artifacts: {attestations: [{type: 'system:decision'}]}", "artifacts.attestations.0.type (line 2, column 35)\n  " + types + "[input: system:decision]"},
		"both wildcards": {head + "artifacts: {attestations: [{type: '*'}]}",
			"artifacts.attestations.0 (line 2, column 28)\n  Value error, name and type cannot both be '*'"},
		"a control without a decision": {head + "artifacts: {attestations: [{type: snyk, for_control: R1}]}",
			"artifacts.attestations.0.for_control (line 2, column 54)\n  Value error, for_control needs the type 'decision'"},
		"an empty name": {head + "artifacts: {attestations: [{type: snyk, name: ''}]}",
			"artifacts.attestations.0.name (line 2, column 47)\n  String should have at least 1 character [input: ]"},
		"a number for a name": {head + "artifacts: {attestations: [{type: snyk, name: 1}]}",
			"artifacts.attestations.0.name (line 2, column 47)\n  Input should be a valid string [input: 1]"},
		"a condition without braces": {head + "artifacts: {attestations: [{type: snyk, if: exists(flow)}]}",
			"artifacts.attestations.0.if (line 2, column 45)\n  Input should be an expression in ${{ }} [input: exists(flow)]"},
		"a condition with a fault": {head + "artifacts:\n  attestations:\n    - type: snyk\n      if: ${{  flow.nme == 'a' }}\n",
			"artifacts.attestations.0.if (line 5, column 11)\n  Invalid expression at character 6: 'flow.nme' is unknown: there are flow, flow.name, flow.tags.<key>, artifact.name, artifact.fingerprint, exists(), matches(), true, false, and, or, not, in [input: ${{  flow.nme == 'a' }}]"},
		"a condition that is no boolean": {head + "artifacts: {attestations: [{type: snyk, if: {text: flow.name}}]}",
			"artifacts.attestations.0.if.text (line 2, column 52)\n  Invalid expression at character 1: the result must be a boolean, not a string [input: flow.name]"},
		"null for the rules":        {head + "artifacts:\n", "artifacts (line 2, column 11)\n  Input should be a valid dictionary or instance of Artifacts [input: None]"},
		"null for a requirement":    {head + "artifacts: {provenance: null}", "artifacts.provenance (line 2, column 25)\n  Input should be a valid dictionary or instance of Requirement [input: None]"},
		"null for the attestations": {head + "artifacts: {attestations: null}", "artifacts.attestations (line 2, column 27)\n  Input should be a valid list [input: None]"},
		"a key given twice":         {head + "artifacts: {}\nartifacts: {}\n", "artifacts (line 3, column 1)\n  Invalid YAML: the key is given twice"},
		"a tag":                     {head + "artifacts: !x {}", "artifacts (line 2, column 12)\n  Tags are not supported [input: !x]"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := policy.Parse([]byte(c.content))
			if want := "1 validation errors for Policy\n" + c.want; err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func TestHostilePoliciesAreRefused(t *testing.T) {
	rule := "    - {type: snyk, if: '${{ true }}'}\n"
	aliases := head + "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		aliases += fmt.Sprintf("b%d: &b%d [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n", i, i)
	}
	for name, c := range map[string]struct{ content, want string }{
		"a megabyte of rules":   {head + "artifacts:\n  attestations:\n" + strings.Repeat(rule, 1<<20/len(rule)), "has too many parts"},
		"more rules than fit":   {head + "artifacts:\n  attestations:\n" + strings.Repeat(rule, policy.MaxRules+1), "at most 1000 attestation rules and exceptions"},
		"aliases":               {aliases, "Extra inputs are not permitted"},
		"an alias of itself":    {head + "artifacts: &a {provenance: *a}", "Extra inputs are not permitted"},
		"a repeated condition":  {head + "artifacts: {attestations: [{type: snyk, if: '${{ matches(flow.name, \"" + strings.Repeat("(a*)*", 300) + "\") }}'}]}", "longer than 1000 bytes"},
		"no UTF-8":              {"\xff", "not UTF-8 text"},
		"two faults":            {"a: 1\nb: 2\n", "3 validation errors for Policy\n"},
		"two documents":         {head + "---\n" + head, "there is more than one document in the file"},
		"deep nesting":          {head + "artifacts: " + strings.Repeat("[", 5000), "Invalid YAML"},
		"a pattern of patterns": {head + "artifacts: {attestations: [{type: snyk, if: '${{ matches(flow.name, \"(((a{1,99}){1,99}){1,99})\") }}'}]}", "Invalid expression"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := policy.Parse([]byte(c.content))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %.300v, want %s", err, c.want)
			}
		})
	}
}

// rulesMatching returns a policy with so many rules. Each has the pattern, in which its number replaces #.
func rulesMatching(count int, pattern string) []byte {
	var b strings.Builder
	b.WriteString(head + "artifacts:\n  attestations:\n")
	for i := range count {
		fmt.Fprintf(&b, "    - {type: snyk, if: \"${{ matches(artifact.name, '%s') }}\"}\n", strings.ReplaceAll(pattern, "#", strconv.Itoa(i)))
	}
	return []byte(b.String())
}

func TestPatternsOfAPolicyAreBoundedTogether(t *testing.T) {
	const large = "(x{1,900}y?){1}n"
	for name, c := range map[string]struct {
		content []byte
		refused bool
	}{
		"1000 large ones":      {rulesMatching(policy.MaxRules, large+"#"), true},
		"1000 equal large":     {rulesMatching(policy.MaxRules, large), false},
		"1000 ordinary ones":   {rulesMatching(policy.MaxRules, "^registry.example.com/team-[a-z]+/service-#@"), false},
		"a few that are large": {rulesMatching(20, large+"#"), false},
	} {
		t.Run(name, func(t *testing.T) {
			parsed, err := policy.Parse(c.content)
			if !c.refused {
				if err != nil || parsed.PatternSize == 0 || parsed.PatternSize > policy.MaxPatterns {
					t.Errorf("its patterns take up %d bytes: %v", parsed.PatternSize, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "1 validation errors") || !strings.Contains(err.Error(), "the regular expressions are too large together") {
				t.Errorf("got %.300v", err)
			}
		})
	}
}

func TestStoredPolicyIsReadThoughItsPatternsAreTooLarge(t *testing.T) {
	content := rulesMatching(60, "(x{1,900}y?){1}n#")
	if _, err := policy.Parse(content); err == nil {
		t.Error("it can be stored")
	}
	parsed, err := policy.ParseStored(content)
	if err != nil || len(parsed.Attestations) != 60 || parsed.PatternSize <= policy.MaxPatterns {
		t.Errorf("%d rules, %d bytes: %v", len(parsed.Attestations), parsed.PatternSize, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(string(fixturestest.Read("policy-production.yml")))
	f.Add(head + "artifacts: {attestations: [{type: '*', name: x, if: {text: 'not exists(flow)'}}]}")
	f.Fuzz(func(t *testing.T, content string) {
		parsed, err := policy.Parse([]byte(content))
		if err != nil {
			return
		}
		for _, facts := range []policy.Facts{{}, {Flows: []policy.Flow{{Name: "build"}}}} {
			evaluation := parsed.Evaluate(&facts)
			for number := range evaluation {
				for _, resolution := range evaluation[number].Resolutions {
					if parsed.Explain(number, resolution, &facts).Text == "" {
						t.Errorf("rule %d has no explanation of %s", number, resolution.Outcome)
					}
				}
			}
		}
	})
}
