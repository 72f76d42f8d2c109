package attestation

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"attestry/evidence"
)

// checked returns a definition with this schema, which must be valid.
func checked(t *testing.T, schema string) Definition {
	t.Helper()
	definition := Definition{Schema: json.RawMessage(schema)}
	if err := Check(definition); err != nil {
		t.Fatalf("%.200s: %v", schema, err)
	}
	return definition
}

func TestPayloadThatFitsTheSchemaIsAccepted(t *testing.T) {
	definition := checked(t, `{"type":"object","required":["name"],"properties":{"name":{"type":"string","pattern":"^[a-z]+$"},
		"list":{"type":"array","items":{"$ref":"#/definitions/item"}},"mail":{"format":"email"}},"additionalProperties":false,
		"definitions":{"item":{"type":"object","properties":{"n":{"type":"integer","minimum":2}}}}}`)
	for _, payload := range []string{`{"name":"a"}`, `{"name":"a","list":[{"n":2},{"n":12345678901234567890}],"mail":"a@example.com"}`, `{"name":"a","list":[{"n":3.0}]}`} {
		if verdict, err := Evaluate(definition, json.RawMessage(payload)); err != nil || !verdict.Compliant {
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
		definition := checked(t, schema)
		if verdict, err := Evaluate(definition, json.RawMessage(`{"a":1}`)); err != nil || !verdict.Compliant {
			t.Errorf("%s: %v", draft, err)
		}
		if _, err := Evaluate(definition, json.RawMessage(`{}`)); evidence.CodeOf(err) != evidence.Invalid {
			t.Errorf("%s: %v", draft, err)
		}
	}
}

func TestEnumsAndConstantsAreKept(t *testing.T) {
	definition := checked(t, `{"properties":{"e":{"enum":["a",1,null,[1],{"b":2}]},"c":{"const":"x"},"n":{"const":null}}}`)
	for payload, at := range map[string]string{
		`{"e":"a"}`: "", `{"e":1.0}`: "", `{"e":null}`: "", `{"e":[1]}`: "", `{"e":{"b":2}}`: "", `{"c":"x"}`: "", `{"n":null}`: "",
		`{"e":"b"}`: "attestation_data/e", `{"e":"1"}`: "attestation_data/e", `{"e":[]}`: "attestation_data/e", `{"c":"y"}`: "attestation_data/c", `{"n":0}`: "attestation_data/n",
	} {
		_, err := Evaluate(definition, json.RawMessage(payload))
		if at == "" && err != nil {
			t.Errorf("%s: %v", payload, err)
		}
		if at != "" {
			finding(t, err, at)
		}
	}
}

func TestPatternsNameCharactersAsECMA262Does(t *testing.T) {
	for name, c := range map[string]struct{ pattern, fits, violates string }{
		"a character":                {`^\u0041$`, "A", "u0041"},
		"a range":                    {`^[\u00c0-\u017F]+$`, "éŁ", "e"},
		"a character after D7":       {`^\ud7ff\uE000$`, "\ud7ff\ue000", "x"},
		"after a backslash":          {`^\\u0041$`, `\u0041`, "A"},
		"after an escaped backslash": {`^\\\u0041$`, `\A`, `\u0041`},
		"followed by digits":         {`^\u00411$`, "A1", "A"},
	} {
		t.Run(name, func(t *testing.T) {
			schema, _ := json.Marshal(map[string]any{"items": map[string]any{"pattern": c.pattern}})
			fits, _ := json.Marshal([]string{c.fits})
			violates, _ := json.Marshal([]string{c.violates})
			definition := checked(t, string(schema))
			if _, err := Evaluate(definition, fits); err != nil {
				t.Errorf("%s: %v", fits, err)
			}
			_, err := Evaluate(definition, violates)
			if text := finding(t, err, "attestation_data/0"); !strings.HasPrefix(text, "String should match pattern '"+c.pattern+"'") {
				t.Errorf("%s: %s", violates, text)
			}
		})
	}
	for _, pattern := range []string{`\\ud83d`, `\\uD83D\\uDE00`, `\\u004`, `\\u`} {
		finding(t, Check(Definition{Schema: json.RawMessage(`{"pattern":"` + pattern + `"}`)}), "type_schema")
	}
}

func TestSchemasLoadNothing(t *testing.T) {
	for _, reference := range []string{"https://example.com/x", "http://169.254.169.254/latest", "file:///etc/passwd", "other.json", "//host/x", "urn:x:y"} {
		for _, schema := range []string{`{"$ref":"` + reference + `"}`, `{"$schema":"` + reference + `"}`, `{"$id":"https://example.com/base/","items":{"$ref":"` + reference + `"}}`} {
			err := Check(Definition{Schema: json.RawMessage(schema)})
			if text := finding(t, err, "type_schema"); strings.Contains(text, "no such file") || strings.Contains(text, "dial") {
				t.Errorf("%s: %s", schema, text)
			}
		}
	}
}

func TestNumbersThatCannotBeHandledAreRefused(t *testing.T) {
	definition := checked(t, `{"type":["object","array"]}`)
	for _, number := range []string{"1e999999999", "-1e400", "1e-999999", strings.Repeat("9", 500), "0." + strings.Repeat("1", 500)} {
		_, err := Evaluate(definition, json.RawMessage(`[`+number+`]`))
		finding(t, err, "attestation_data/0")
	}
	for _, number := range []string{"1e308", "-0", "0e5", "1e-300", strings.Repeat("9", 200), "0.1"} {
		if _, err := Evaluate(definition, json.RawMessage(`[`+number+`]`)); err != nil {
			t.Errorf("%s: %v", number, err)
		}
	}
}

// The format regex compiles texts of payloads. A child process caches the schema for payloads of all organizations.
func TestRegexesOfEarlierPayloadsDoNotCount(t *testing.T) {
	schema, err := CompileSchema(json.RawMessage(`{"items":{"format":"regex"}}`))
	if err != nil {
		t.Fatal(err)
	}
	payload := func(name string, count int) json.RawMessage {
		texts := make([]string, count)
		for i := range texts {
			texts[i] = fmt.Sprintf("x{100}%s%d", name, i)
		}
		encoded, _ := json.Marshal(texts)
		return encoded
	}
	for _, name := range []string{"a", "b", "c"} {
		if _, err := EvaluateBy(schema, nil, payload(name, 1000)); err != nil {
			t.Errorf("payload %s: %.200v", name, err)
		}
		if _, err := EvaluateBy(schema, nil, payload(name, 2000)); !errors.Is(err, ErrTooMuchWork) {
			t.Errorf("large payload %s: %.200v", name, err)
		}
	}
}
