package attestation

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
)

// exponential returns a schema in which each part refers twice to the next one, by a keyword. leaf is the last part.
func exponential(keyword, leaf string, depth int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/definitions/p0","definitions":{`)
	for i := range depth {
		fmt.Fprintf(&b, `"p%d":{%q:[{"$ref":"#/definitions/p%d"},{"$ref":"#/definitions/p%d"}]},`, i, keyword, i+1, i+1)
	}
	fmt.Fprintf(&b, `"p%d":%s}}`, depth, leaf)
	return b.String()
}

func TestExcessiveWorkOfASchemaIsRefused(t *testing.T) {
	const depth = 60
	text := `"` + strings.Repeat("a", 900_000) + `"`
	for name, c := range map[string]struct{ schema, payload string }{
		"allOf":             {exponential("allOf", `{"type":"object"}`, depth), `{}`},
		"anyOf, none fits":  {exponential("anyOf", `{"type":"object"}`, depth), `[]`},
		"oneOf":             {exponential("oneOf", `{"type":"object"}`, depth), `{}`},
		"not":               {strings.Replace(exponential("anyOf", `{"type":"object"}`, depth), `{"$ref":"#/definitions/p0"`, `{"not":{"$ref":"#/definitions/p0"}`, 1), `[]`},
		"never":             {exponential("anyOf", `false`, depth), `{}`},
		"newest":            {`{"$schema":"https://json-schema.org/draft/2020-12/schema",` + exponential("allOf", `{"type":"object"}`, depth)[1:], `{}`},
		"by depth":          {`{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, strings.Repeat(`{"a":`, 60) + `1` + strings.Repeat(`}`, 60)},
		"names of members":  {strings.Replace(exponential("allOf", `{"type":"string"}`, depth), `{"$ref":"#/definitions/p0"`, `{"propertyNames":{"$ref":"#/definitions/p0"}`, 1), `{"a":1}`},
		"pattern":           {`{"pattern":"((a{1,10}){1,10}){1,10}b"}`, text},
		"enums of items":    {`{"items":{"enum":[` + numbers(2000) + `]}}`, `[` + strings.Repeat("3,", 10_000) + `3]`},
		"unevaluated again": {`{"$schema":"https://json-schema.org/draft/2019-09/schema","allOf":[` + strings.Repeat(`{"unevaluatedProperties":true},`, 1000) + `{}]}`, manyMembers(50_000)},
	} {
		t.Run(name, func(t *testing.T) {
			schema, err := CompileSchema(json.RawMessage(c.schema))
			evidencetest.Must(t, err)
			if schema.work.most != maxWork {
				t.Errorf("%d may be done", schema.work.most)
			}
			schema.work.most = maxWork / 20 // to end sooner
			if _, err := EvaluateBy(schema, nil, json.RawMessage(c.payload)); !errors.Is(err, ErrTooMuchWork) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// numbers returns so many different numbers below 3.
func numbers(n int) string {
	texts := make([]string, 0, n)
	for i := range n {
		texts = append(texts, fmt.Sprintf("2.%05d", i))
	}
	return strings.Join(texts, ",")
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"m%d":1`, i)
	}
	return "{" + b.String()[1:] + "}"
}

func TestWorkIsCountedAnewForEachPayload(t *testing.T) {
	schema, err := CompileSchema(json.RawMessage(exponential("allOf", `{"type":"object"}`, 16)))
	evidencetest.Must(t, err)
	for range 10 {
		if verdict, err := EvaluateBy(schema, nil, json.RawMessage(`{}`)); err != nil || !verdict.Compliant {
			t.Fatalf("got %v %v", verdict, err)
		}
	}
}

func TestLargestOrdinaryPayloadsAreWithinTheWork(t *testing.T) {
	results := strings.Repeat(`{"id":"CVE-2024-12345","level":"low","at":{"file":"a.go","line":12}},`, MaxPayload/80)
	for name, c := range map[string]struct{ schema, payload string }{
		"numbers": {`{"items":{"type":"integer","minimum":0}}`, `[` + strings.Repeat("1,", MaxPayload/2-10) + `1]`},
		"objects": {`{"properties":{"results":{"items":{"$ref":"#/definitions/r"}}},"definitions":{"r":{"required":["id","level"],"additionalProperties":false,
			"properties":{"id":{"type":"string","pattern":"^CVE-[0-9]{4}-[0-9]{4,}$"},"level":{"enum":["low","medium","high"]},"cve":{"type":"string"},
			"at":{"anyOf":[{"type":"null"},{"$ref":"#/definitions/at"}]}}},"at":{"properties":{"file":{"minLength":1},"line":{"type":"integer"}}}}}`, `{"results":[` + strings.TrimSuffix(results, ",") + `]}`},
		"digests": {`{"items":{"pattern":"^[a-f0-9]{64}$"}}`, `["` + strings.Repeat(strings.Repeat("a", 64)+`","`, MaxPayload/68) + strings.Repeat("b", 64) + `"]`},
	} {
		t.Run(name, func(t *testing.T) {
			if verdict, err := Evaluate(checked(t, c.schema), json.RawMessage(c.payload)); err != nil || !verdict.Compliant {
				t.Errorf("got %v %.300v", verdict, err)
			}
		})
	}
}

func TestPatternsOfASchemaAreBoundedTogether(t *testing.T) {
	var b strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&b, `,"(x{1,1000})y%d":{}`, i)
	}
	schema := json.RawMessage(`{"patternProperties":{` + b.String()[1:] + `}}`)
	if text := finding(t, Check(Definition{Schema: schema}), "type_schema"); !strings.Contains(text, "the regular expressions are too large together") {
		t.Errorf("got %s", text)
	}
	if _, err := Evaluate(Definition{Schema: schema}, json.RawMessage(`{}`)); !errors.Is(err, ErrTooMuchWork) {
		t.Errorf("a stored one: %v", err)
	}
}

func TestPayloadIsRefusedIfTheLibraryOfSchemasPanics(t *testing.T) {
	schema, err := CompileSchema(json.RawMessage(`{}`))
	evidencetest.Must(t, err)
	schema.root = nil
	if _, err := EvaluateBy(schema, nil, json.RawMessage(`{}`)); evidence.CodeOf(err) != evidence.Invalid {
		t.Errorf("got %v", err)
	}
}
