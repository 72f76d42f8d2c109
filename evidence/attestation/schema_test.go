package attestation

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
)

func compileText(t *testing.T, schema string) *Compiled {
	t.Helper()
	compiled, err := Compile(Definition{Schema: json.RawMessage(schema)})
	if err != nil {
		t.Fatalf("%.200s: %v", schema, err)
	}
	return compiled
}

func TestPayloadThatDoesNotFitTheSchemaIsRefusedByPlace(t *testing.T) {
	compiled := compileText(t, `{"type":"object","required":["name"],"properties":{"name":{"type":"string","pattern":"^[a-z]+$"},
		"list":{"type":"array","items":{"$ref":"#/definitions/item"}},"mail":{"format":"email"}},"additionalProperties":false,
		"definitions":{"item":{"type":"object","properties":{"n":{"type":"integer","minimum":2}}}}}`)
	for payload, at := range map[string]string{
		`{}`: "attestation_data", `[]`: "attestation_data", `{"name":1}`: "attestation_data.name", `{"name":"A"}`: "attestation_data.name",
		`{"name":"a","list":[{"n":2},{"n":1}]}`: "attestation_data.list.1.n", `{"name":"a","list":[{"n":2.5}]}`: "attestation_data.list.0.n",
		`{"name":"a","more":1}`: "attestation_data", `{"name":"a","mail":"nobody"}`: "attestation_data.mail",
	} {
		_, err := compiled.Judge(t.Context(), json.RawMessage(payload))
		if text := finding(t, err, at); text == "" {
			t.Errorf("%s: no text", payload)
		}
	}
	for _, payload := range []string{`{"name":"a"}`, `{"name":"a","list":[{"n":2},{"n":12345678901234567890}],"mail":"a@example.com"}`, `{"name":"a","list":[{"n":3.0}]}`} {
		if verdict, err := compiled.Judge(t.Context(), json.RawMessage(payload)); err != nil || !verdict.Compliant {
			t.Errorf("%s: %+v %v", payload, verdict, err)
		}
	}
}

func TestSchemasOfAllDraftsWork(t *testing.T) {
	for _, draft := range []string{"", "http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#",
		"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema"} {
		schema := `{"type":"object","required":["a"]}`
		if draft != "" {
			schema = `{"$schema":"` + draft + `","type":"object","required":["a"]}`
		}
		compiled := compileText(t, schema)
		if verdict, err := compiled.Judge(t.Context(), json.RawMessage(`{"a":1}`)); err != nil || !verdict.Compliant {
			t.Errorf("%s: %v", draft, err)
		}
		if _, err := compiled.Judge(t.Context(), json.RawMessage(`{}`)); evidence.CodeOf(err) != evidence.Invalid {
			t.Errorf("%s: %v", draft, err)
		}
	}
}

func TestEnumsAndConstantsAreKept(t *testing.T) {
	compiled := compileText(t, `{"properties":{"e":{"enum":["a",1,null,[1],{"b":2}]},"c":{"const":"x"},"n":{"const":null}}}`)
	for payload, at := range map[string]string{
		`{"e":"a"}`: "", `{"e":1.0}`: "", `{"e":null}`: "", `{"e":[1]}`: "", `{"e":{"b":2}}`: "", `{"c":"x"}`: "", `{"n":null}`: "",
		`{"e":"b"}`: "attestation_data.e", `{"e":"1"}`: "attestation_data.e", `{"e":[]}`: "attestation_data.e", `{"c":"y"}`: "attestation_data.c", `{"n":0}`: "attestation_data.n",
	} {
		_, err := compiled.Judge(t.Context(), json.RawMessage(payload))
		if at == "" && err != nil {
			t.Errorf("%s: %v", payload, err)
		}
		if at != "" {
			finding(t, err, at)
		}
	}
}

func TestSchemasReachForNothing(t *testing.T) {
	for _, reference := range []string{"https://example.com/x", "http://169.254.169.254/latest", "file:///etc/passwd", "other.json", "//host/x", "urn:x:y"} {
		for _, schema := range []string{`{"$ref":"` + reference + `"}`, `{"$schema":"` + reference + `"}`, `{"$id":"https://example.com/base/","items":{"$ref":"` + reference + `"}}`} {
			_, err := Compile(Definition{Schema: json.RawMessage(schema)})
			if text := finding(t, err, "type_schema"); strings.Contains(text, "no such file") || strings.Contains(text, "dial") {
				t.Errorf("%s: %s", schema, text)
			}
		}
	}
	if compileText(t, `{"$ref":"http://json-schema.org/draft-07/schema#"}`) == nil {
		t.Error("the draft itself is known")
	}
}

// doubling refers twice to the next of n parts, each of which does so again.
func doubling(n int, keyword string) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/definitions/p0","definitions":{`)
	for i := range n {
		fmt.Fprintf(&b, `"p%d":{%q:[{"$ref":"#/definitions/p%d"},{"$ref":"#/definitions/p%d"}]},`, i, keyword, i+1, i+1)
	}
	fmt.Fprintf(&b, `"p%d":{"type":"object"}}}`, n)
	return b.String()
}

func TestHostileSchemasAreStopped(t *testing.T) {
	nested := strings.Repeat(`{"a":`, 60) + `1` + strings.Repeat(`}`, 60)
	var numbers, long strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&numbers, ",%d", i)
	}
	for i := range 3000 {
		fmt.Fprintf(&long, ",1%0300d", i)
	}
	list := `[` + numbers.String()[1:] + `]`
	for name, c := range map[string]struct{ schema, payload string }{
		"allOf": {doubling(40, "allOf"), `{}`},
		"anyOf": {doubling(40, "anyOf"), `[]`},
		"oneOf": {doubling(40, "oneOf"), `{}`},
		"dynamic": {`{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.com/outer","$ref":"inner","$defs":{
			"a/~ b":{"$dynamicAnchor":"n","allOf":[{"properties":{"a":{"$dynamicRef":"inner#n"}}},{"properties":{"a":{"$dynamicRef":"inner#n"}}}]},
			"inner":{"$id":"inner","$dynamicRef":"#n","$defs":{"d":{"$dynamicAnchor":"n"}}}}}`, nested},
		"by depth":    {`{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, nested},
		"constants":   {`{"items":{"const":1}}`, `[` + strings.Repeat(`1,`, 400_000) + `1]`},
		"itself":      {`{"$ref":"#"}`, `{}`},
		"itself, not": {`{"not":{"$ref":"#"}}`, `{}`},
		"enum":        {`{"items":{"enum":` + list + `}}`, `[` + strings.Repeat(`"x",1e5,`, 50_000) + `0]`},
		"unique":      {`{"uniqueItems":true}`, `[` + long.String()[1:] + `]`},
		"contains":    {`{"items":{"contains":{"const":1}}}`, `[` + strings.Repeat(`[`+strings.Repeat("0,", 400)+`0],`, 1000) + `[]]`},
		"pattern":     {`{"pattern":"((a{1,10}){1,10}){1,10}b"}`, `"` + strings.Repeat("a", 900_000) + `"`},
	} {
		compiled, err := Compile(Definition{Schema: json.RawMessage(c.schema)})
		if err != nil {
			finding(t, err, "type_schema")
			continue
		}
		before := time.Now()
		verdict, err := compiled.Judge(t.Context(), json.RawMessage(c.payload))
		t.Logf("%s: %d ms, %+v %.200v", name, time.Since(before).Milliseconds(), verdict, err)
		if code := evidence.CodeOf(err); err != nil && code != evidence.Invalid && !(underRace && code == evidence.Unavailable) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "itself, not" {
			continue // it ends by itself
		}
		if err == nil {
			t.Errorf("%s: not stopped", name)
		}
	}
}

func TestHostileSchemasAreRefusedAtOnce(t *testing.T) {
	var long strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&long, ",1%0300d", i)
	}
	for name, schema := range map[string]string{
		"long numbers":   `{"enum":[` + long.String()[1:] + `]}`,
		"huge exponent":  `{"multipleOf":1e999999999}`,
		"many parts":     `{"allOf":[` + strings.Repeat(`{"type":"object"},`, 20_000) + `{}]}`,
		"deep":           strings.Repeat(`{"not":`, 100_000) + `{}` + strings.Repeat(`}`, 100_000),
		"large patterns": `{"patternProperties":{` + strings.Repeat(`"`+strings.Repeat("(a{1,1000})", 300)+`x":{},`, 1) + `"` + strings.Repeat("(b{1,1000})", 300) + `":{}}}`,
		"long pattern":   `{"pattern":"` + strings.Repeat("a", 5000) + `"}`,
	} {
		before := time.Now()
		_, err := Compile(Definition{Schema: json.RawMessage(schema)})
		finding(t, err, "type_schema")
		if took := time.Since(before); took > 10*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

func TestNumbersThatCannotBeHandledAreRefused(t *testing.T) {
	compiled := compileText(t, `{"type":["object","array"]}`)
	for _, number := range []string{"1e999999999", "-1e400", "1e-999999", strings.Repeat("9", 500), "0." + strings.Repeat("1", 500)} {
		_, err := compiled.Judge(t.Context(), json.RawMessage(`[`+number+`]`))
		finding(t, err, "attestation_data")
	}
	for _, number := range []string{"1e308", "-0", "0e5", "1e-300", strings.Repeat("9", 200), "0.1"} {
		if _, err := compiled.Judge(t.Context(), json.RawMessage(`[`+number+`]`)); err != nil {
			t.Errorf("%s: %v", number, err)
		}
	}
}

func TestLargeSchemaCompilesInGoodTime(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"properties":{"p":{}`)
	for i := range 4900 {
		fmt.Fprintf(&b, `,"p%d":{"type":"string"}`, i)
	}
	b.WriteString(`}}`)
	before := time.Now()
	compileText(t, b.String())
	took := time.Since(before)
	t.Logf("%v", took)
	if took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}
