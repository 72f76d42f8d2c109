package attestation

import (
	"encoding/json"
	"strings"
	"testing"
)

const newest = `"$schema":"https://json-schema.org/draft/2020-12/schema"`

func TestSchemaThatCannotBeEvaluatedIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ schema, text string }{
		"reference to itself":     {`{"$ref":"#"}`, "at '#': it applies itself to the same value without end, by way of '#'"},
		"two references":          {`{"$ref":"#/definitions/a","definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}}}`, "at '#/definitions/a': it applies itself to the same value without end, by way of '#/definitions/b', '#/definitions/a'"},
		"not":                     {`{"not":{"$ref":"#"}}`, "by way of '#/not', '#'"},
		"allOf":                   {`{"allOf":[{"type":"object"},{"$ref":"#"}]}`, "by way of '#/allOf/1', '#'"},
		"anyOf":                   {`{"anyOf":[{"type":"object"},{"$ref":"#"}]}`, "by way of '#/anyOf/1', '#'"},
		"oneOf":                   {`{"oneOf":[{"type":"object"},{"$ref":"#"}]}`, "by way of '#/oneOf/1', '#'"},
		"if":                      {`{"if":{"$ref":"#"},"then":{"type":"object"}}`, "by way of '#/if', '#'"},
		"then":                    {`{"if":{"type":"object"},"then":{"$ref":"#"}}`, "by way of '#/then', '#'"},
		"else":                    {`{"if":{"type":"object"},"else":{"allOf":[{"$ref":"#"}]}}`, "by way of '#/else', '#/else/allOf/0', '#'"},
		"dependency":              {`{"dependencies":{"a":{"$ref":"#"}}}`, "by way of '#/dependencies/a', '#'"},
		"dependent schema":        {`{` + newest + `,"dependentSchemas":{"a":{"$ref":"#"}}}`, "by way of '#/dependentSchemas/a', '#'"},
		"recursive reference":     {`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveRef":"#"}`, "by way of '#'"},
		"dynamic reference":       {`{` + newest + `,"$dynamicAnchor":"a","$dynamicRef":"#a"}`, "by way of '#'"},
		"in an item":              {`{"properties":{"a":{"items":{"$ref":"#/definitions/a"}}},"definitions":{"a":{"anyOf":[{"$ref":"#/definitions/a"}]}}}`, "at '#/definitions/a'"},
		"in an additional member": {`{"additionalProperties":{"$ref":"#/definitions/a"},"definitions":{"a":{"not":{"$ref":"#/definitions/a"}}}}`, "at '#/definitions/a'"},
	} {
		t.Run(name, func(t *testing.T) {
			text := finding(t, Check(Definition{Schema: json.RawMessage(c.schema)}), "type_schema")
			if !strings.HasPrefix(text, "Input should be a valid JSON Schema: at '#") || !strings.Contains(text, c.text) {
				t.Errorf("got %s", text)
			}
		})
	}
}

func TestSchemaThatRecursesIntoTheValueWorks(t *testing.T) {
	const (
		tree   = `{"name":"a","children":[{"name":"b","children":[{"name":"c"}]}]}`
		broken = `{"name":"a","children":[{"name":"b","children":[{"name":1}]}]}`
		name   = `"name":{"type":"string"}`
	)
	for title, schema := range map[string]string{
		"items":               `{"properties":{` + name + `,"children":{"items":{"$ref":"#"}}}}`,
		"by way of allOf":     `{"properties":{` + name + `,"children":{"allOf":[{"items":{"anyOf":[{"$ref":"#"}]}}]}}}`,
		"definitions":         `{"$ref":"#/definitions/n","definitions":{"n":{"properties":{` + name + `,"children":{"$ref":"#/definitions/l"}}},"l":{"items":{"$ref":"#/definitions/n"}}}}`,
		"recursive reference": `{"$schema":"https://json-schema.org/draft/2019-09/schema","properties":{` + name + `,"children":{"items":{"$recursiveRef":"#"}}}}`,
		"dynamic reference":   `{` + newest + `,"$dynamicAnchor":"n","properties":{` + name + `,"children":{"items":{"$dynamicRef":"#n"}}}}`,
		"used twice":          `{"allOf":[{"$ref":"#/definitions/n"},{"$ref":"#/definitions/n"}],"definitions":{"n":{"properties":{` + name + `,"children":{"items":{"$ref":"#/definitions/n"}}}}}}`,
		"unused loop":         `{"properties":{` + name + `,"children":{"items":{"$ref":"#"}}},"definitions":{"unused":{"$ref":"#/definitions/unused"}}}`,
	} {
		t.Run(title, func(t *testing.T) {
			definition := checked(t, schema)
			if verdict, err := Evaluate(definition, json.RawMessage(tree)); err != nil || !verdict.Compliant {
				t.Errorf("got %+v %v", verdict, err)
			}
			_, err := Evaluate(definition, json.RawMessage(broken))
			finding(t, err, "attestation_data/children/0/children/0/name")
		})
	}
	for _, draft := range []string{"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema"} {
		checked(t, `{"$ref":"`+draft+`"}`)
	}
}

// Such a schema may have been stored by a version that did not refuse it.
func TestStoredSchemaThatCannotBeEvaluatedRefusesThePayload(t *testing.T) {
	for name, schema := range map[string]string{
		"allOf":                       `{"allOf":[{"$ref":"#"}]}`,
		"not":                         `{"not":{"$ref":"#"}}`,
		"anyOf":                       `{"anyOf":[{"$ref":"#"},true]}`,
		"dynamic reference under not": `{` + newest + `,"$dynamicAnchor":"a","not":{"$dynamicRef":"#a"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			verdict, err := Evaluate(Definition{Schema: json.RawMessage(schema)}, json.RawMessage(`{}`))
			finding(t, err, "attestation_data")
			if verdict.Compliant {
				t.Error("got compliant")
			}
		})
	}
}
