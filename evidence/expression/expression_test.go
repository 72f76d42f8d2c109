package expression_test

import (
	"strings"
	"testing"

	"attestry/evidence/evidencetest"
	"attestry/evidence/expression"
	"attestry/evidence/pattern"
)

var subject = expression.Subject{
	Flow: &expression.Flow{Name: "web-ci", Tags: map[string]string{
		"kind": "build", "risk-level": "high", "priority": "2", "team.name": "core",
	}},
	Name:        "registry.example.com/web:1.2",
	Fingerprint: "0a1b",
}

func TestExpressionsAreEvaluated(t *testing.T) {
	for text, want := range map[string]bool{
		`true`:                                                    true,
		`not true`:                                                false,
		`not not true`:                                            true,
		`exists(flow)`:                                            true,
		`exists(flow.tags.kind)`:                                  true,
		`exists(flow.tags.none)`:                                  false,
		`flow.name == "web-ci"`:                                   true,
		`flow.name == 'web-ci'`:                                   true,
		`flow.name != "web-ci"`:                                   false,
		`flow.tags.kind == "build"`:                               true,
		`flow.tags.none == "build"`:                               false,
		`flow.tags.none != "build"`:                               true,
		`flow.tags.none == flow.tags.other`:                       true,
		`flow.tags.team.name == "core"`:                           true,
		`flow.tags.risk-level in ["high", "critical"]`:            true,
		`flow.tags.risk-level not in ["high", "critical"]`:        false,
		`flow.tags.none in ["high", flow.tags.none]`:              false,
		`flow.tags.none not in ["high"]`:                          true,
		`flow.tags.priority < 3`:                                  true,
		`flow.tags.priority <= 2`:                                 true,
		`flow.tags.priority > 2`:                                  false,
		`flow.tags.priority >= 2.0`:                               true,
		`flow.tags.priority == 2`:                                 true,
		`flow.tags.priority in [1, 2]`:                            true,
		`3 > flow.tags.priority`:                                  true,
		`-1 < 1`:                                                  true,
		`flow.tags.none < 3`:                                      false,
		`flow.tags.none > 3`:                                      false,
		`"10" < "9"`:                                              true,
		`"10" < 9`:                                                false,
		`artifact.fingerprint == "0a1b"`:                          true,
		`matches(artifact.name, "registry")`:                      true,
		`matches(artifact.name, "example")`:                       false,
		`matches(artifact.name, ".*example")`:                     true,
		`matches(artifact.name, "^registry\.example\.com/")`:      true,
		`matches(artifact.name, "web|registry")`:                  true,
		`matches(artifact.name, "(?i)REGISTRY")`:                  true,
		`matches(flow.tags.none, ".*")`:                           false,
		`true or false and false`:                                 true,
		`(true or false) and false`:                               false,
		`not true or true`:                                        true,
		`not (true or true)`:                                      false,
		`not flow.tags.kind == "test"`:                            true,
		`true == (1 == 1)`:                                        true,
		`false and flow.name < 3`:                                 false,
		`true or flow.name < 3`:                                   true,
		`"it's" == 'it\'s'`:                                       true,
		`flow.tags.kind == "build" and artifact.name != "legacy"`: true,
		"exists(flow)\n\tand true":                                true,
	} {
		t.Run(text, func(t *testing.T) {
			parsed, err := expression.Parse(text, patterns())
			evidencetest.Must(t, err)
			if got, err := parsed.Evaluate(&subject); err != nil || got != want {
				t.Errorf("got %v, %v", got, err)
			}
			if parsed.Text != text {
				t.Errorf("the text is %q", parsed.Text)
			}
		})
	}
}

func TestFlowIsNullForAnArtifactWithoutProvenance(t *testing.T) {
	for text, want := range map[string]bool{
		`exists(flow)`:              false,
		`not exists(flow)`:          true,
		`exists(flow.name)`:         false,
		`flow.name == "web-ci"`:     false,
		`flow.tags.kind != "build"`: true,
		`flow.tags.n < 3`:           false,
		`exists(artifact.name)`:     true,
	} {
		t.Run(text, func(t *testing.T) {
			parsed, err := expression.Parse(text, patterns())
			evidencetest.Must(t, err)
			if got, err := parsed.Evaluate(&expression.Subject{Name: "web"}); err != nil || got != want {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestComparingOtherTextWithANumberIsAnError(t *testing.T) {
	for _, text := range []string{
		`flow.tags.kind < 3`, `flow.tags.kind == 3`, `3 != flow.tags.kind`, `flow.tags.kind in [1]`,
		`not flow.tags.kind < 3`, `true and flow.tags.kind < 3`, `false or flow.tags.kind > 3`,
	} {
		t.Run(text, func(t *testing.T) {
			parsed, err := expression.Parse(text, patterns())
			evidencetest.Must(t, err)
			_, err = parsed.Evaluate(&subject)
			if want := `"build" is compared with a number and is not one`; err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

func TestFaultyExpressionsAreRefusedWithTheirPosition(t *testing.T) {
	for text, want := range map[string]string{
		``:                              "column 1: expected a value, found the end of the expression",
		`flow.name ==`:                  "column 13: expected a value, found the end of the expression",
		`flow.name = "a"`:               "column 11: unexpected character '='",
		`flow.name == "a`:               "column 14: the string has no closing quote",
		`"ü" == flow.name )`:            "column 18: expected an operator or the end of the expression, found ')'",
		`flow.nme == "a"`:               "column 1: 'flow.nme' is unknown: there are flow, flow.name, flow.tags.<key>, artifact.name, artifact.fingerprint, exists(), matches(), true, false, and, or, not, in",
		`flow.tags. == "a"`:             "column 1: 'flow.tags.' is unknown: there are flow, flow.name, flow.tags.<key>, artifact.name, artifact.fingerprint, exists(), matches(), true, false, and, or, not, in",
		`claims.sub == "a"`:             "column 1: 'claims.sub' is unknown: there are flow, flow.name, flow.tags.<key>, artifact.name, artifact.fingerprint, exists(), matches(), true, false, and, or, not, in",
		`"a" in flow.name`:              "column 8: the right side of 'in' must be a list, not a string",
		`flow.name`:                     "column 1: the result must be a boolean, not a string",
		`3`:                             "column 1: the result must be a boolean, not a number",
		`["a"]`:                         "column 1: the result must be a boolean, not a list",
		`flow`:                          "column 1: the result must be a boolean, not a flow",
		`not flow.name`:                 "column 5: the operand of 'not' must be a boolean, not a string",
		`true and flow.name`:            "column 10: each side of 'and' must be a boolean, not a string",
		`3 or true`:                     "column 1: each side of 'or' must be a boolean, not a number",
		`flow == flow`:                  "column 1: a flow cannot be compared with '=='",
		`"a" == ["a"]`:                  "column 8: a list cannot be compared with '=='",
		`"a" in "abc"`:                  "column 8: the right side of 'in' must be a list, not a string",
		`"a" in [["a"]]`:                "column 9: an item of a list cannot be a list",
		`"a" in []`:                     "column 9: expected a value, found ']'",
		`"a" in ["a",]`:                 "column 13: expected a value, found ']'",
		`"a" not "b"`:                   "column 9: expected 'in' after 'not', found a string",
		`true < false`:                  "column 8: a boolean cannot be compared with '<'",
		`true < 3`:                      "column 1: a boolean cannot be compared with a number",
		`flow.tags.prod == true`:        "column 1: a string cannot be compared with a boolean",
		`"high" < 3`:                    `column 1: "high" is compared with a number and is not one`,
		`3 < "high"`:                    `column 5: "high" is compared with a number and is not one`,
		`1.2.3 == 1`:                    "column 1: '1.2.3' is not a number",
		`- == 1`:                        "column 1: '-' is not a number",
		`1 == 1 == 1`:                   "column 8: expected an operator or the end of the expression, found '=='",
		`exists flow`:                   "column 8: expected '(', found 'flow'",
		`exists(flow`:                   "column 12: expected ')', found the end of the expression",
		`matches(flow, "a")`:            "column 9: the first argument of matches() must be a string, not a flow",
		`matches(flow.name)`:            "column 18: expected ',', found ')'",
		`matches(flow.name, flow.name)`: "column 20: expected a regular expression in quotes, found 'flow.name'",
		`matches(flow.name, "(")`:       "column 20: the regular expression is not valid: missing closing ): `(`",
		`matches(flow.name, "a)(b")`:    "column 20: the regular expression is not valid: unexpected ): `a)(b`",
		`matches(flow.name, "(?=a)")`:   "column 20: the regular expression is not valid: invalid or unsupported Perl syntax: `(?=`",
		`matches(flow.name, "a{900}b{900}c{900}")`: "column 20: the regular expression is not valid: its repetitions are too large",
		"\xff":          "column 1: the expression is not UTF-8 text",
		`true && false`: "column 6: unexpected character '&'",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := expression.Parse(text, patterns())
			if err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func TestHostileExpressionsAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"parentheses":   strings.Repeat("(", 5000) + "true" + strings.Repeat(")", 4000),
		"negations":     strings.Repeat("not ", 2000) + "true",
		"functions":     strings.Repeat("exists(", 1000),
		"lists":         "1 in " + strings.Repeat("[", 9000),
		"length":        strings.Repeat(" ", expression.MaxLength) + "true",
		"long pattern":  `matches(flow.name, "` + strings.Repeat("a", 2000) + `")`,
		"large pattern": `matches(flow.name, "` + strings.Repeat(".{1000}", 100) + `")`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := expression.Parse(text, patterns()); err == nil {
				t.Error("it is accepted")
			}
		})
	}
}

// patterns returns a set that is large enough for the patterns of one expression.
func patterns() *pattern.Set { return expression.NewPatterns(8 << 20) }

func TestPatternsThatBacktrackElsewhereTakeLinearTime(t *testing.T) {
	parsed, err := expression.Parse(`matches(artifact.name, "(a*)*b")`, patterns())
	evidencetest.Must(t, err)
	got, err := parsed.Evaluate(&expression.Subject{Name: strings.Repeat("a", 100_000)})
	if err != nil || got {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestWorkOfPatternsIsBoundedForASubject(t *testing.T) {
	parsed, err := expression.Parse(`matches(artifact.name, "(?:a*){600}b") or true`, patterns())
	evidencetest.Must(t, err)
	for name, subject := range map[string]*expression.Subject{
		"a long text":    {Name: strings.Repeat("a", 100_000)},
		"repeated texts": {Name: strings.Repeat("a", 1_000)},
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				if _, err = parsed.Evaluate(subject); err != nil {
					break
				}
			}
			if err == nil || !strings.Contains(err.Error(), "column 1: matches() takes too much work") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`flow.tags.kind == "build" and not matches(artifact.name, "^a.*") or exists(flow)`,
		`flow.tags.a-b in ["x", 'y', 3, -1.5, true]`, `((1<2))`, `"\"`, `not in`, `flow.tags.priority<=3`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := expression.Parse(text, patterns())
		if err != nil {
			return
		}
		for _, subject := range []expression.Subject{subject, {Name: "web"}} {
			first, firstErr := parsed.Evaluate(&subject)
			again, againErr := parsed.Evaluate(&subject)
			if first != again || (firstErr == nil) != (againErr == nil) {
				t.Errorf("evaluates to %v (%v), then to %v (%v)", first, firstErr, again, againErr)
			}
		}
	})
}
