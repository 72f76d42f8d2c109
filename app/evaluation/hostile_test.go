package evaluation

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/attestation"
	"attestry/evidence/evidencetest"
)

// testLimits are far below production's in bytes and memory, so that hostile definitions reach these limits soon.
var testLimits = Limits{Bytes: 128 << 20, Memory: 64 << 20, CPU: time.Minute}

// hostileLimits returns testLimits, or with -short lower ones, which are reached sooner.
func hostileLimits() Limits {
	if testing.Short() {
		return Limits{Bytes: 32 << 20, Memory: 32 << 20, CPU: time.Minute}
	}
	return testLimits
}

// lowCPULimits are production's limits but for the CPU time, which is low.
func lowCPULimits() Limits {
	limits := Limits{Bytes: productionLimits.Bytes, Memory: productionLimits.Memory, CPU: 200 * time.Millisecond}
	if testing.Short() {
		limits.CPU = 60 * time.Millisecond
	}
	return limits
}

// endless is a rule that takes hours of CPU time, but few steps and little memory.
const endless = `[range(500000)] as $a | last(range(1000000) | limit(2; $a | ..))`

// unfolding returns a rule that applies rest to a value that shares its parts: a tree of 2^60 leaves in little memory.
func unfolding(rest string) string { return `reduce range(60) as $i (1; [., .]) | ` + rest }

// largeRules allocate much memory in few steps of the jq machine, or in its stacks.
func largeRules() map[string]string {
	variables := "def f: (f | "
	for i := range 500 {
		variables += fmt.Sprintf("1 as $a%d | ", i)
	}
	return map[string]string{
		"iteration of the same list":  endless,
		"paths of the same list":      `[range(300000)] as $a | last(range(1000000) | first($a | paths))`,
		"streams of the same list":    `[range(300000)] as $a | last(range(1000000) | first($a | tostream))`,
		"copies of a growing list":    `reduce range(1e9) as $i ([]; . + [$i])`,
		"copies of a growing text":    `reduce range(1e9) as $i (""; . + "x" * 1000)`,
		"deletion of the first":       `[range(200000)] | until(length == 0; del(.[0]))`,
		"updates one by one":          `[range(300000)] | reduce range(300000) as $i (.; .[$i] += 1)`,
		"paths into the depth":        `reduce range(150000) as $i (1; [.]) | [path(..)] | length`,
		"fill up to an index":         `[] | setpath([536870911]; 1)`,
		"fill up to an index, update": `[] | .[100000000] |= 1`,
		"fill up a stream":            `fromstream([[536870911], 1], [[536870911]])`,
		"transposed rows":             `[range(100000) | []] | .[0] = [range(100000)] | transpose`,
		"repeated text":               `"x" * 1e9`,
		"doubled text":                `reduce range(100) as $i ("x"; . + .)`,
		"joined text":                 `[range(1e6)] | join("x" * 1000)`,
		"text of characters":          `reduce range(30) as $i ("x"; . + .) | explode`,
		"long number":                 `("1" * 2000000) | tonumber | . * . * . * . * . * .`,
		"stack of calls":              `def f: [f]; f`,
		"stack of forks":              `def f: f, f; f`,
		"variables of calls":          variables + ".); f",
		"unfolded, encoded":           unfolding(`tojson`),
		"unfolded, flat":              unfolding(`flatten`),
		"unfolded, merged":            `reduce range(60) as $i (1; {a: ., b: .}) | . * .`,
		"unfolded, interpolated":      unfolding(`"\(.)"`),
		"unfolded, deleted from":      unfolding(`del(.[0])`),
		"all replacements":            `("a" * 1000000) | gsub("a"; "bb")`,
		"times":                       `0 | strftime("%1024d" * 300000)`,
	}
}

// longRules take much CPU time in few steps, and allocate little.
func longRules() map[string]string {
	functions := "1 as $x | "
	for i := range 500 {
		functions += fmt.Sprintf("def f%d: ", i)
	}
	functions += "last(range(1e9) | [range(1000)] | map(. + $x))"
	for i := range 500 {
		functions += fmt.Sprintf("; f%d", 499-i)
	}
	return map[string]string{
		"all matches":                  `("a" * 1000000) | [match("a"; "g")] | length`,
		"nested functions":             functions,
		"unfolded, compared":           unfolding(`. == .`),
		"all parts":                    `("a," * 1000000) | [splits(",")] | length`,
		"unfolded, subtracted":         unfolding(`[.] - [.]`),
		"search by a list as an index": `[range(300000) | 0] as $a | $a[[range(150000) | 0]]`,
		"contained lists":              `[range(300000)] | contains([range(150000) | 299999])`,
		"squares":                      `12345678901234567890 | until(false; . * .)`,
		"search for a list":            `[range(300000) | 0] | indices([range(150000) | 0])`,
		"alternatives":                 `("a" * 1000000) | test("(" + "(a|aa)+|" * 200 + "x)b")`,
		"nested repetition":            `("a" * 1000000) | test("(a?){400}a{400}b")`,
		"differences of lists":         `[range(300000) | 0] | . - map(1)`,
		"unfolded, sorted":             unfolding(`sort`),
	}
}

func TestHostileRulesAreRefused(t *testing.T) {
	e, checker := newEvaluator(t, hostileLimits()), newEvaluator(t, productionLimits)
	refuse := func(e *Evaluator, rulesByName map[string]string) {
		for name, rule := range rulesByName {
			t.Run(name, func(t *testing.T) {
				evidencetest.Must(t, checker.Check(t.Context(), "o", rules(rule)))
				_, err := e.Evaluate(t.Context(), "o", rules(rule), json.RawMessage(`{"a":1}`))
				wantFinding(t, err, "attestation_data", overLimitsText)
			})
		}
	}
	refuse(e, largeRules())
	refuse(newEvaluator(t, lowCPULimits()), longRules())
	// The evaluator can still be used.
	if verdict, err := e.Evaluate(t.Context(), "o", rules(".a == 1"), json.RawMessage(`{"a":1}`)); err != nil || !verdict.Compliant {
		t.Errorf("got %v %v", verdict, err)
	}
}

func TestHostileRulesAreNeverCompliant(t *testing.T) {
	e := newEvaluator(t, testLimits)
	for name, rule := range map[string]string{
		"tail call":           `def f: f; f`,
		"until":               `until(false; .)`,
		"repeat":              `[limit(1e9; repeat(1))]`,
		"compared depths":     `reduce range(1000000) as $i (1; [.]) | . == .`,
		"nested JSON":         `("[" * 1000000) | fromjson`,
		"product of ranges":   `[range(3000) | range(3000)] | combinations`,
		"unfolded, walked":    unfolding(`walk(.)`),
		"groups of a pattern": `("a" * 5000) | test("(" * 2000 + ")" * 2000)`,
		"combinations":        `[combinations(1e9)]`,
	} {
		t.Run(name, func(t *testing.T) {
			verdict, err := e.Evaluate(t.Context(), "o", rules(rule), json.RawMessage(`{"a":1}`))
			if verdict.Compliant || err != nil && evidence.CodeOf(err) != evidence.Invalid {
				t.Errorf("got %v %v", verdict, err)
			}
		})
	}
}

// doubling returns a schema with a chain of n definitions, each of which refers twice to the next one.
func doubling(n int, keyword string) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/definitions/p0","definitions":{`)
	for i := range n {
		fmt.Fprintf(&b, `"p%d":{%q:[{"$ref":"#/definitions/p%d"},{"$ref":"#/definitions/p%d"}]},`, i, keyword, i+1, i+1)
	}
	fmt.Fprintf(&b, `"p%d":{"type":"object"}}}`, n)
	return b.String()
}

// each formats the numbers below n by a pattern, and joins them with commas.
func each(n int, pattern string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, pattern, i)
	}
	return b.String()
}

// colliding returns a list of n different lists to which the schema library gives the same hash.
func colliding(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,["x`)
		for bit := range 14 {
			b.WriteString([]string{`","`, `\u0004`}[i>>bit&1])
		}
		b.WriteString(`"]`)
	}
	return "[" + b.String()[1:] + "]"
}

func TestHostileSchemasAreRefused(t *testing.T) {
	const newest = `"$schema":"https://json-schema.org/draft/2020-12/schema"`
	nested := strings.Repeat(`{"a":`, 60) + `1` + strings.Repeat(`}`, 60)
	type hostile struct{ schema, payload string }
	checker := newEvaluator(t, productionLimits)
	refuse := func(e *Evaluator, schemas map[string]hostile) {
		for name, c := range schemas {
			t.Run(name, func(t *testing.T) {
				evidencetest.Must(t, checker.Check(t.Context(), "o", schema(c.schema)))
				_, err := e.Evaluate(t.Context(), "o", schema(c.schema), json.RawMessage(c.payload))
				wantFinding(t, err, "attestation_data", overLimitsText)
			})
		}
	}
	refuse(newEvaluator(t, hostileLimits()), map[string]hostile{
		"allOf": {doubling(40, "allOf"), `{}`},
		"anyOf": {doubling(40, "anyOf"), `[]`},
		"oneOf": {doubling(40, "oneOf"), `{}`},
		"dynamic references": {`{` + newest + `,"$id":"https://example.com/outer","$ref":"inner","$defs":{
			"a/~ b":{"$dynamicAnchor":"n","allOf":[{"properties":{"a":{"$dynamicRef":"inner#n"}}},{"properties":{"a":{"$dynamicRef":"inner#n"}}}]},
			"inner":{"$id":"inner","$dynamicRef":"#n","$defs":{"d":{"$dynamicAnchor":"n"}}}}}`, nested},
		"by depth":               {`{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, nested},
		"long numbers, enum":     {`{"items":{"enum":[` + each(2000, "1%0300d") + `]}}`, `[` + each(2000, "2%0300d") + `]`},
		"long numbers, multiple": {`{"items":{"allOf":[` + each(1000, `{"multipleOf":1.%0300d}`) + `]}}`, `[` + each(2000, "1%0300d") + `]`},
		"contains":               {`{"items":{"allOf":[{"contains":{"const":1}},{"contains":{"const":2}},{"contains":{"const":3}}]}}`, `[` + strings.Repeat(`[`+strings.Repeat("0,", 400)+`0],`, 1300) + `[]]`},
		"unevaluatedProperties":  {`{` + newest + `,"allOf":[` + each(1000, `{"properties":{"p%d":{}},"unevaluatedProperties":true}`) + `],"unevaluatedProperties":false}`, `{` + each(50_000, `"q%d":1`) + `}`},
		"constants":              {`{"items":{"anyOf":[` + each(2000, `{"const":{"a":[%d]}}`) + `]}}`, `[` + each(20_000, `{"a":[-%d]}`) + `]`},
	})
	refuse(newEvaluator(t, lowCPULimits()), map[string]hostile{
		"unique, same hashes": {`{"allOf":[` + each(8, `{"uniqueItems":true,"minItems":%d}`) + `]}`, colliding(14_000)},
		"pattern":             {`{"pattern":"((a{1,10}){1,10}){1,10}b"}`, `"` + strings.Repeat("a", 900_000) + `"`},
		"patternProperties":   {`{"patternProperties":{` + each(1000, `"(x|x)*y%d$":{}`) + `}}`, `{` + each(2000, `"`+strings.Repeat("x", 300)+`%d":1`) + `}`},
		"propertyNames":       {`{"propertyNames":{"allOf":[` + each(1000, `{"pattern":"(x|x)*y%d$"}`) + `]}}`, `{` + each(2000, `"`+strings.Repeat("x", 300)+`%d":1`) + `}`},
	})
}

func TestSchemaThatIsTooLargeToCompileIsRefused(t *testing.T) {
	repeated := each(4000, `"(x{1,1000})y%d":{}`)
	err := newEvaluator(t, testLimits).Check(t.Context(), "o", schema(`{"patternProperties":{`+repeated+`}}`))
	wantFinding(t, err, "type_schema", "Input should be a valid JSON Schema: the regular expressions are too large together [input: type_schema]")
}

// FuzzDefinitionsNeverHarm looks for definitions and payloads that result neither in a verdict nor in Invalid.
func FuzzDefinitionsNeverHarm(f *testing.F) {
	f.Add(`.a[] |= . + 1`, `{"$ref":"#/x"}`, `{"a":[1]}`)
	f.Add(endless, doubling(20, "anyOf"), `{"a":[1,"x",null]}`)
	f.Add(`test("(")`, `{"$dynamicRef":"#x"}`, `"x"`)
	e := newWithin(testLimits, slog.New(slog.DiscardHandler))
	f.Cleanup(e.Close)
	f.Fuzz(func(t *testing.T, rule, schema, payload string) {
		definition := attestation.Definition{Rules: []string{rule}, Schema: json.RawMessage(schema)}
		err := e.Check(t.Context(), "o", definition)
		if err == nil {
			_, err = e.Evaluate(t.Context(), "o", definition, json.RawMessage(payload))
		}
		if err != nil && evidence.CodeOf(err) != evidence.Invalid && !errors.Is(err, t.Context().Err()) {
			t.Errorf("%q, %q on %q: %v", rule, schema, payload, err)
		}
	})
}
