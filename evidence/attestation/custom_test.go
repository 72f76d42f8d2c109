package attestation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"attestry/evidence"
)

func judge(t *testing.T, payload string, rules ...string) Verdict {
	t.Helper()
	if err := Check(Definition{Rules: rules}); err != nil {
		t.Fatalf("check %q: %v", rules, err)
	}
	verdict, err := Evaluate(Definition{Rules: rules}, json.RawMessage(payload))
	if err != nil {
		t.Fatalf("judge %q: %v", rules, err)
	}
	return verdict
}

func TestRulesBehaveAsInJQ(t *testing.T) {
	const payload = `{"coverage": 80.0, "big": 12345678901234567890, "name": "Build-7", "tags": ["a", "b"], "none": null,
		"results": [{"id": 1, "ok": true, "n": 3}, {"id": 2, "ok": true, "n": 5}], "map": {"x": {"y": [1, 2]}}, "text": "{\"a\": [1]}"}`
	for _, rule := range []string{
		`.coverage >= 80`, `.coverage == 80`, `.coverage < 80.5 and .coverage > 79`, `.coverage != 81`,
		`.big == 12345678901234567890`, `.big + 1 == 12345678901234567891`, `.big > 12345678901234567889`,
		`all(.results[]; .ok)`, `any(.results[]; .n == 5)`, `[.results[].n] | add == 8`, `.results | map(.n) | max == 5`,
		`.results | length == 2`, `.results | all(.n > 2)`, `.results | any(.n > 4)`, `[.results[] | select(.ok)] | length == 2`,
		`.name | test("^build-\\d+$"; "i")`, `.name | startswith("Build")`, `.name | ascii_downcase == "build-7"`, `.name | sub("B"; "b") == "build-7"`,
		`.name | gsub("[0-9]"; "x") == "Build-x"`, `[.name | scan("[a-z]")] | length == 4`, `.name | capture("(?<n>\\d)").n == "7"`, `.name | split("-") == ["Build", "7"]`,
		`.tags == ["a", "b"]`, `.tags - ["a"] == ["b"]`, `.tags + ["c"] | length == 3`, `.tags | index("b") == 1`, `.tags | contains(["a"])`, `.tags | join(",") == "a,b"`,
		`.name | IN("Build-7", "Build-8")`, `.none == null`, `.missing == null`, `.missing // 1 == 1`, `(.none // "d") == "d"`,
		`.map.x.y[1] == 2`, `.map["x"].y | sort | reverse == [2, 1]`, `.map | to_entries[0].key == "x"`, `.map | has("x")`, `.map | keys == ["x"]`,
		`"\(.name)!" == "Build-7!"`, `@json "n: \(.tags)" == "n: [\"a\",\"b\"]"`, `(.tags | @csv) == "\"a\",\"b\""`, `(.name | @base64) == "QnVpbGQtNw=="`,
		`.text | fromjson | .a[0] == 1`, `.tags | tojson == "[\"a\",\"b\"]"`, `"12" | tonumber == 12`,
		`.coverage += 1 | .coverage == 81`, `.tags[0] = "z" | .tags == ["z", "b"]`, `.tags |= map(. + "!") | .tags == ["a!", "b!"]`, `.results |= map(select(.n > 3)) | .results | length == 1`,
		`.coverage *= 2 | .coverage -= 60 | .coverage /= 10 | .coverage %= 7 | .coverage == 3`, `.missing //= 5 | .missing == 5`, `(.tags[] |= empty) | .tags | length < 2`,
		`del(.tags) | has("tags") | not`, `del(.results[] | select(.n == 3)) | .results | length == 1`, `with_entries(select(.key == "name")) | keys == ["name"]`,
		`[paths] | length > 10`, `[..] | length > 10`, `getpath(["map", "x", "y", 0]) == 1`, `[path(.map.x.y[])] == [["map", "x", "y", 0], ["map", "x", "y", 1]]`,
		`reduce .results[] as $r (0; . + $r.n) == 8`, `[foreach .results[] as {n: $n} (0; . + $n)] == [3, 8]`, `.results | group_by(.ok) | length == 1`, `.results | sort_by(.n) | .[0].id == 1`,
		`.results as [{id: $a}, {id: $b}] | $a + $b == 3`, `def twice(f): f | f; 1 | twice(. + 1) == 3`, `def f: 1; f + 1 == 2`, `[limit(2; repeat(1))] == [1, 1]`,
		`[(1, 2) + (10, 20)] == [11, 12, 21, 22]`, `[(1, 2) * (10, 20)] == [10, 20, 20, 40]`, `[1, 2, 3] | .[1:] == [2, 3]`, `.name[0:5] == "Build"`, `.tags[-1:] == ["b"]`, `.a?.b? == null`,
		`try error("x") catch . == "x"`, `[.[]?] | length == 8`, `if .coverage >= 80 then true else false end`, `[.tags[] as $t | $t] == .tags`, `. as $d | "name" as $k | $d[$k] == "Build-7"`,
		`[.results[] | .id] | unique == [1, 2]`, `{a: 1} * {b: {c: 2}} == {a: 1, b: {c: 2}}`, `"ab" * 2 == "abab"`, `6 / 2 == 3`, `-(.coverage) == -80`, `[1, [2]] | flatten == [1, 2]`,
		`[[1, 2], [3]] | transpose == [[1, 3], [2, null]]`, `"2024-01-02T03:04:05Z" | fromdate == 1704164645`, `0 | todate == "1970-01-01T00:00:00Z"`, `[.tags[] | ascii_upcase] == ["A", "B"]`,
		`walk(if type == "number" then 0 else . end) | .coverage == 0`, `map_values(1) | .name == 1`, `[splits("a"; null)?] | length >= 0`, `first(.tags[]) == "a"`, `label $f | (true, break $f)`,
		`$ENV == {}`, `env == {}`, `# only a remark
		true`,
	} {
		if verdict := judge(t, payload, rule); !verdict.Compliant {
			t.Errorf("%s: %v", rule, verdict.Reasons)
		}
	}
}

func TestResultsOtherThanTrueAreNotCompliant(t *testing.T) {
	for rule, reason := range map[string]string{
		`.coverage >= 80`: "is not true",
		`false`:           "is not true", `null`: "gives no boolean", `1`: "gives no boolean", `"true"`: "gives no boolean", `empty`: "gives nothing",
		`true, false`: "is not true", `error`: "fails", `error(null)`: "fails", `halt`: "fails", `halt_error`: "fails", `"secret" | error`: "fails",
		`true, halt`: "fails", `.a.b.c.d`: "gives no boolean", `.coverage.x`: "fails", `1 / 0`: "fails", `limit(-1; 1)`: "fails", `[1114112, -1, "x"] | implode`: "fails",
		`"%" | @base64d`: "fails", `{} | fromjson`: "fails", `"x" | strptime("%Y")`: "fails", `1e400 | todate`: "fails", `test("(" + "")`: "fails", `"a" | test("(" + "")`: "fails", `infinite | tojson | fromjson | . > 1e400`: "is not true",
	} {
		verdict := judge(t, `{"coverage": 79.9}`, rule)
		if verdict.Compliant || len(verdict.Reasons) != 1 || verdict.Reasons[0] != "rule 1 "+reason {
			t.Errorf("%s: got %+v, want %s", rule, verdict, reason)
		}
	}
}

func TestEveryRuleMustHold(t *testing.T) {
	if verdict := judge(t, `{"a": 1}`, `.a == 1`, `.a < 2`); !verdict.Compliant || verdict.Reasons != nil {
		t.Errorf("got %+v", verdict)
	}
	verdict := judge(t, `{"a": 1}`, `.a == 1`, `.a == 2`, `.b`)
	if verdict.Compliant || len(verdict.Reasons) != 2 || verdict.Reasons[1] != "rule 3 gives no boolean" {
		t.Errorf("got %+v", verdict)
	}
}

func TestLargePayloadsAreWithinTheBudget(t *testing.T) {
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, `,{"id":%d,"ok":true,"level":"low"}`, i)
	}
	payload := `{"results":[` + b.String()[1:] + `]}`
	for _, rule := range []string{
		`all(.results[]; .ok == true and .level != "high")`, `[.results[] | select(.level == "high")] | length == 0`, `.results | map(.id) | unique | length == 20000`,
		`.results | group_by(.level) | length == 1`, `any(.results[]; .level | test("^low$"))`, `reduce .results[] as $r (0; . + $r.id) > 0`, `.results | sort_by(.id) | .[0].id == 0`,
	} {
		if verdict := judge(t, payload, rule); !verdict.Compliant {
			t.Errorf("%s: %v", rule, verdict.Reasons)
		}
	}
}

func TestTypeWithoutSchemaAndRulesIsCompliant(t *testing.T) {
	if !judge(t, `[1, 2]`).Compliant {
		t.Error("want compliant")
	}
}

func TestStepsOfAllRulesAreCountedTogether(t *testing.T) {
	verdict := judge(t, `{"a": 1}`, `.a == 1`, `def f: f; f`, `.a == 1`, `try last(repeat(1)) catch true`)
	want := []string{"rule 2 takes too many steps", "rule 3 takes too many steps", "rule 4 takes too many steps"}
	if verdict.Compliant || !slices.Equal(verdict.Reasons, want) {
		t.Errorf("got %+v", verdict)
	}
	if verdict := judge(t, `{"a": 1}`, `.a == 1`); !verdict.Compliant {
		t.Error("the next payload has no budget of its own")
	}
}

func TestFaultsOfADefinitionNameItsParts(t *testing.T) {
	err := Check(Definition{
		Rules:   []string{"true", ".a |", strings.Repeat("1+", MaxRule) + "1", "input", "debug", "$nothing", "nosuch(1)", `include "x"; .`},
		Summary: []evidence.SummaryItem{{Name: "a", Expression: ".a"}, {Name: "b", Expression: ")"}},
		Schema:  json.RawMessage(`{"type":1}`),
	})
	for i := 1; i < 8; i++ {
		if text := finding(t, err, fmt.Sprintf("evaluator.rules[%d]", i)); !strings.HasPrefix(text, "Input should be a valid jq expression: ") || len(text) > 600 {
			t.Errorf("rule %d: %s", i, text)
		}
	}
	finding(t, err, "summary[1].expression")
	finding(t, err, "type_schema")
	err = Check(Definition{Rules: make([]string, maxRules+1), Summary: make([]evidence.SummaryItem, maxRules+1)})
	finding(t, err, "evaluator.rules")
	finding(t, err, "summary")
}

func TestTypeHasAtMost100RulesOf10000BytesEach(t *testing.T) {
	rules := func(n, length int) Definition {
		return Definition{Rules: slices.Repeat([]string{strings.Repeat(" ", length-4) + "true"}, n)}
	}
	if err := Check(rules(100, 10_000)); err != nil {
		t.Errorf("what is allowed is refused: %v", err)
	}
	finding(t, Check(rules(101, 4)), "evaluator.rules")
	finding(t, Check(rules(1, 10_001)), "evaluator.rules[0]")
}

func TestLiteralPatternsOfRulesThatAreNotValidAreRefused(t *testing.T) {
	for rule, pattern := range map[string]string{
		`.a | test("[")`: "[", `.a|test("^(?!y)")`: "^(?!y)", `test("[\\"; "i")`: `[\`, `match("(")`: "(", `capture("(")`: "(", `[scan("(")]`: "(", `[splits("(")]`: "(",
		`sub("("; "x")`: "(", `gsub("("; "x")`: "(", `if .a then (.b | test("(")) else {c: [.d[]? | test("[")]} end`: "(",
		`reduce .[] as $x (true; . and ("\($x | test("("))" == "x"))`: "(",
		`split("("; null)`: "", `split("(") == []`: "", `def f: test("("); true`: "", `test("(" + .a)`: "", `test("(\(.a))")`: "", `test(["a", "i"])`: "", `test(null)`: "", `def test(f): f; test("(") == "("`: "", `"test(\"[\")" | test("^t")`: "",
	} {
		t.Run(rule, func(t *testing.T) {
			err := Check(Definition{Rules: []string{rule}})
			if pattern == "" && err != nil {
				t.Errorf("got %v", err)
			}
			if want := "'" + pattern + "' should be a valid regex [input: "; pattern != "" && !strings.Contains(finding(t, err, "evaluator.rules[0]"), want) {
				t.Errorf("got %v", err)
			}
		})
	}
	finding(t, Check(Definition{Summary: []evidence.SummaryItem{{Name: "a", Expression: `test("(")`}}}), "summary[0].expression")
	if verdict, err := Evaluate(Definition{Rules: []string{`test("(")`}}, json.RawMessage(`{}`)); err != nil || verdict.Compliant {
		t.Errorf("a stored rule gives %v, %v", verdict, err)
	}
}

func TestStoredDefinitionThatDoesNotCompileIsNoFaultOfThePayload(t *testing.T) {
	for name, definition := range map[string]Definition{
		"rule":   {Rules: []string{".a >"}},
		"schema": {Schema: json.RawMessage(`{"type":1}`)},
	} {
		if _, err := Evaluate(definition, json.RawMessage(`{}`)); evidence.CodeOf(err) != evidence.Internal {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Evaluate evaluates a payload by a definition. The errors are those of CompileSchema and EvaluateBy.
func Evaluate(definition Definition, data json.RawMessage) (Verdict, error) {
	if definition.Schema == nil {
		return EvaluateBy(nil, definition.Rules, data)
	}
	schema, err := CompileSchema(definition.Schema)
	if err != nil {
		return Verdict{}, err
	}
	return EvaluateBy(schema, definition.Rules, data)
}
