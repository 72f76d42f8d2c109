package attestation

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"attestry/evidence"
)

func TestViolationsNameTheLocationAndTheExpectation(t *testing.T) {
	for name, c := range map[string]struct{ schema, payload, at, text string }{
		"missing member":         {`{"required":["n"]}`, `{}`, "/n", "Field required [input: None]"},
		"missing member, within": {`{"items":{"required":["a/b~c"]}}`, `[{}]`, "/0/a~1b~0c", "Field required [input: None]"},
		"extra member":           {`{"additionalProperties":false}`, `{"x":1}`, "/x", "Extra inputs are not permitted [input: 1]"},
		"forbidden member":       {`{"properties":{"x":false}}`, `{"x":true}`, "/x", "Extra inputs are not permitted [input: True]"},
		"name of a member":       {`{"propertyNames":{"pattern":"^a"}}`, `{"b":1}`, "/b", "The name of the member should fit the schema's 'propertyNames' [input: 1]"},
		"string":                 {`{"properties":{"a":{"type":"string"}}}`, `{"a":1}`, "/a", "Input should be a valid string [input: 1]"},
		"number, far down":       {`{"properties":{"a":{"items":{"type":"number"}}}}`, `{"a":[1,"x"]}`, "/a/1", "Input should be a valid number [input: x]"},
		"list":                   {`{"type":"array"}`, `{"a":1}`, "", "Input should be a valid list [input: {…}]"},
		"dictionary":             {`{"type":"object"}`, `[1]`, "", "Input should be a valid dictionary [input: […]]"},
		"several types":          {`{"items":{"type":["string","integer","null"]}}`, `[true]`, "/0", "Input should be None, a valid integer or a valid string [input: True]"},
		"enum":                   {`{"items":{"enum":["a","b",1]}}`, `["c"]`, "/0", "Input should be 'a', 'b' or 1 [input: c]"},
		"constant":               {`{"items":{"const":"a"}}`, `[null]`, "/0", "Input should be 'a' [input: None]"},
		"pattern":                {`{"items":{"pattern":"^[a-z]+$"}}`, `["A"]`, "/0", "String should match pattern '^[a-z]+$' [input: A]"},
		"format":                 {`{"items":{"format":"email"}}`, `["nobody"]`, "/0", "Input should be a valid email [input: nobody]"},
		"short":                  {`{"items":{"minLength":1}}`, `[""]`, "/0", "String should have at least 1 character [input: ]"},
		"long":                   {`{"items":{"maxLength":2}}`, `["abc"]`, "/0", "String should have at most 2 characters [input: abc]"},
		"few":                    {`{"minItems":2}`, `[1]`, "", "List should have at least 2 items after validation, not 1 [input: […]]"},
		"many":                   {`{"maxItems":1}`, `[1,2]`, "", "List should have at most 1 item after validation, not 2 [input: […]]"},
		"few members":            {`{"minProperties":1}`, `{}`, "", "Dictionary should have at least 1 item after validation, not 0 [input: {…}]"},
		"many members":           {`{"maxProperties":0}`, `{"a":1}`, "", "Dictionary should have at most 0 items after validation, not 1 [input: {…}]"},
		"less":                   {`{"items":{"minimum":2.5}}`, `[1]`, "/0", "Input should be greater than or equal to 2.5 [input: 1]"},
		"not more":               {`{"items":{"exclusiveMinimum":2}}`, `[2]`, "/0", "Input should be greater than 2 [input: 2]"},
		"more":                   {`{"items":{"maximum":2}}`, `[3]`, "/0", "Input should be less than or equal to 2 [input: 3]"},
		"not less":               {`{"items":{"exclusiveMaximum":12345678901234567890}}`, `[1e30]`, "/0", "Input should be less than 12345678901234567890 [input: 1e30]"},
		"multiple":               {`{"items":{"multipleOf":2}}`, `[3]`, "/0", "Input should be a multiple of 2 [input: 3]"},
		"not contained":          {`{"contains":{"const":1}}`, `[2,3]`, "", "Input should fit the type's schema: no items match contains schema [input: […]]"},
		"no alternative":         {`{"items":{"anyOf":[{"type":"string"},{"minimum":5}]}}`, `[4]`, "/0", "Input should be a valid string; Input should be greater than or equal to 5 [input: 4]"},
		"two alternatives":       {`{"items":{"oneOf":[{},{"type":"string"}]}}`, `["x"]`, "/0", "Input should fit the type's schema: 'oneOf' failed, subschemas 0, 1 matched [input: x]"},
		"by a reference":         {`{"items":{"$ref":"#/definitions/n"},"definitions":{"n":{"type":"integer"}}}`, `[1.5]`, "/0", "Input should be a valid integer [input: 1.5]"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Evaluate(checked(t, c.schema), json.RawMessage(c.payload))
			if got := finding(t, err, "attestation_data"+c.at); got != c.text {
				t.Errorf("got %q, want %q", got, c.text)
			}
		})
	}
}

func TestManyViolationsAreReportedInPart(t *testing.T) {
	_, err := Evaluate(checked(t, `{"items":{"type":"string"}}`), json.RawMessage(`[0`+strings.Repeat(`,1`, 5000)+`]`))
	var refused *evidence.Error
	if !errors.As(err, &refused) || len(refused.Fields) != maxViolations {
		t.Errorf("got %.300v", err)
	}
}

func TestReportOfViolationsIsSmallDespiteLongNames(t *testing.T) {
	long := strings.Repeat("n", 10_000)
	var members, required strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&members, `"%d%s":1,`, i, long[:900])
		fmt.Fprintf(&required, `"%d",`, i)
	}
	for name, c := range map[string]struct{ schema, payload string }{
		"within a long name":    {`{"additionalProperties":{"items":{"type":"string"}}}`, `{"` + long + `":[0` + strings.Repeat(`,1`, 5000) + `]}`},
		"missing members":       {`{"additionalProperties":{"required":[` + required.String() + `""]}}`, `{"` + long + `":{}}`},
		"extra members":         {`{"additionalProperties":false}`, `{` + members.String() + `"":1}`},
		"wrong members":         {`{"additionalProperties":{"type":"string"}}`, `{` + members.String() + `"":1}`},
		"number under the name": {`{}`, `{"` + long + `":1e999}`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Evaluate(checked(t, c.schema), json.RawMessage(c.payload))
			var refused *evidence.Error
			if !errors.As(err, &refused) || len(refused.Fields) == 0 || len(refused.Fields) > maxViolations {
				t.Fatalf("got %.300v", err)
			}
			size := 0
			for at, text := range refused.Fields {
				size += len(at) + len(text)
				if len(at) > 300 {
					t.Fatalf("a location of %d bytes", len(at))
				}
			}
			if size > 50_000 {
				t.Errorf("got %d bytes", size)
			}
		})
	}
	text := finding(t, Check(Definition{Schema: json.RawMessage(`{"properties":{"` + long + `":{"$ref":"#/properties/` + long + `"}}}`)}), "type_schema")
	if len(text) > 1000 {
		t.Errorf("of a schema: %d bytes", len(text))
	}
}

func TestLongListsOfChoicesAreCut(t *testing.T) {
	var choices strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&choices, `"choice %d",`, i)
	}
	_, err := Evaluate(checked(t, `{"items":{"enum":[`+choices.String()+`"last"]}}`), json.RawMessage(`["x"]`))
	if text := finding(t, err, "attestation_data/0"); len(text) > 300 {
		t.Errorf("%d bytes: %.300s", len(text), text)
	}
}

func TestBrokenSchemaIsRefusedWithTheLocation(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"a":{"type":"strange"}}}`:    "at '#/properties/a/type': Input should be a valid list; Input should be 'array', 'boolean', 'integer', 'null', 'number', 'object' or 'string' [input: strange]",
		`{"properties":{"a":{"minLength":-1}}}`:      "at '#/properties/a/minLength': Input should be greater than or equal to 0 [input: -1]",
		`{"required":"a"}`:                           "at '#/required': Input should be a valid list [input: a]",
		`{"items":{"pattern":"("}}`:                  "at '#/items/pattern': Input should be a valid regex [input: (]",
		`{"patternProperties":{"(?!a)":{}}}`:         "at '#/patternProperties/(?!a)': The name of the member should be a valid regex [input: {…}]",
		`{"items":[{"multipleOf":1e100000000}]}`:     "at '#/items/0/multipleOf': number out of range",
		`{"items":{"$ref":"#/definitions/nowhere"}}`: "#/definitions/nowhere",
	} {
		text := finding(t, Check(Definition{Schema: json.RawMessage(schema)}), "type_schema")
		if !strings.HasPrefix(text, "Input should be a valid JSON Schema: ") || !strings.Contains(text, want) {
			t.Errorf("%s: %s", schema, text)
		}
	}
}
