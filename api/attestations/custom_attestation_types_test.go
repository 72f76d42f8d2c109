package attestations_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence/evidencetest"
)

const coverageSchema = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","required":["coverage"],
	"properties":{"coverage":{"type":"number","minimum":0,"maximum":100},"tool":{"type":"string"}},"additionalProperties":false}`

// verdictOf sends an attestation of a custom type and returns its verdict.
func verdictOf(s *apitest.Service, kind, data string) bool {
	s.T.Helper()
	s.AttestCustom(http.StatusCreated, kind, data)
	var recorded []struct {
		IsCompliant bool `json:"is_compliant"`
	}
	s.Want(http.StatusOK, http.MethodGet, "/attestations/"+s.Org+"/flow/trail/trail/custom", nil).Decode(s.T, &recorded)
	if len(recorded) == 0 {
		s.T.Fatal("nothing is recorded")
	}
	return recorded[0].IsCompliant
}

func TestAttestationTypeIsReadBackAsItWasSent(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateAttestationType(`{"name":"coverage","description":"of tests","evaluator":{"content_type":"jq","rules":[".coverage \u003e= 80"]},
		"summary":[{"name":"Coverage","expression":".coverage"}]}`, apitest.SchemaFile(coverageSchema))
	raw := s.Want(http.StatusOK, http.MethodGet, s.TypesPath()+"/coverage", nil)
	evidencetest.Contains(t, string(raw.Body), `".coverage >= 80"`)
	got := s.GetAttestationType("coverage")
	if got.Name != "coverage" || got.Org != s.Org || *got.Description != "of tests" || got.Archived || *got.CreatedBy != "administrator" ||
		*got.CreatedAt <= 0 || *got.LastModifiedAt != *got.CreatedAt || len(got.Versions) != 1 {
		t.Fatalf("got %+v", got)
	}
	version := got.Versions[0]
	if version.Version != 1 || version.Timestamp != *got.CreatedAt || version.CreatedBy != "administrator" ||
		string(version.Summary) != `[{"name":"Coverage","expression":".coverage"}]` {
		t.Errorf("got %+v", version)
	}
	var want, have any
	s.Must(json.Unmarshal([]byte(coverageSchema), &want))
	s.Must(json.Unmarshal(version.TypeSchema, &have))
	apitest.Equal(t, fmt.Sprint(want), fmt.Sprint(have), version.TypeSchema)
}

func TestUnsetMembersOfAnAttestationTypeAreLeftOut(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateAttestationType(`{"name":"plain.type"}`)
	body := string(s.Want(http.StatusOK, http.MethodGet, s.TypesPath()+"/plain.type", nil).Body)
	for _, absent := range []string{"description", "comment", "summary", "rules"} {
		if strings.Contains(body, absent) {
			t.Errorf("%s is in %s", absent, body)
		}
	}
	if !strings.Contains(body, `"type_schema":null`) || !strings.Contains(body, `"evaluator":{"content_type":"default"}`) {
		t.Errorf("got %s", body)
	}
	for name, c := range map[string]struct{ data, evaluator string }{
		"null":               {`{"name":"e","evaluator":null}`, `null`},
		"empty":              {`{"name":"e","evaluator":{}}`, `{"content_type":"default"}`},
		"default with rules": {`{"name":"e","evaluator":{"content_type":"default","rules":["no("]}}`, `{"content_type":"default"}`},
		"rules alone":        {`{"name":"e","evaluator":{"rules":["true"]}}`, `{"content_type":"jq","rules":["true"]}`},
		"jq without rules":   {`{"name":"e","evaluator":{"content_type":"jq","rules":[]}}`, `{"content_type":"jq","rules":[]}`},
		"absent":             {`{"name":"e","description":null,"summary":null}`, `{"content_type":"default"}`},
	} {
		t.Run(name+" evaluator", func(t *testing.T) {
			s := s.In(t)
			s.CreateAttestationType(c.data)
			apitest.Equal(t, string(s.GetAttestationType("e").Versions[0].Evaluator), c.evaluator, "evaluator")
		})
	}
}

func TestPostingAnAttestationTypeAgainAddsAVersion(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.CreateAttestationType(`{"name":"kind","description":"first","evaluator":{"content_type":"jq","rules":[".n > 1"]}}`)
	first := s.GetAttestationType("kind")
	s.CreateAttestationType(`{"name":"kind","evaluator":{"content_type":"jq","rules":[".n > 2"]}}`, apitest.SchemaFile(`{"type":"object"}`))
	got := s.GetAttestationType("kind")
	if got.Description != nil || *got.CreatedAt != *first.CreatedAt || *got.LastModifiedAt <= *first.LastModifiedAt ||
		len(got.Versions) != 2 || got.Versions[0].Version != 2 || got.Versions[1].Version != 1 {
		t.Fatalf("got %+v", got)
	}
	if string(got.Versions[0].TypeSchema) != `{"type":"object"}` || string(got.Versions[1].TypeSchema) != "null" {
		t.Errorf("schemas %s and %s", got.Versions[0].TypeSchema, got.Versions[1].TypeSchema)
	}
	one := s.GetAttestationType("kind?version=1")
	if len(one.Versions) != 1 || one.Versions[0].Version != 1 || one.CreatedBy != nil || one.CreatedAt != nil || one.LastModifiedAt != nil {
		t.Errorf("got %+v", one)
	}
	for _, number := range []string{"10", "3", "0", "-1"} {
		t.Run("version "+number, func(t *testing.T) {
			s := s.In(t)
			message, _ := s.Want(http.StatusNotFound, http.MethodGet, s.TypesPath()+"/kind?version="+number, nil).Problem(t)
			apitest.Equal(t, message, "version "+number+" does not exist for custom attestation type 'kind'")
		})
	}
	for query, text := range map[string]string{"version=": "[input: ]", "version=x": "[input: x]", "version=1.5": "[input: 1.5]"} {
		t.Run(s.CaseName(query), func(t *testing.T) {
			s := s.In(t)
			_, errors := s.Want(http.StatusBadRequest, http.MethodGet, s.TypesPath()+"/kind?"+query, nil).Problem(t)
			if !strings.HasPrefix(errors["query.version"], "Input should be a valid integer") || !strings.HasSuffix(errors["query.version"], text) {
				t.Errorf("%q", errors)
			}
		})
	}
}

func TestArchivedAttestationTypeIsListedAndCanBeRestored(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateAttestationType(`{"name":"one"}`)
	s.CreateAttestationType(`{"name":"two"}`)
	for range 2 {
		apitest.Equal(t, s.Want(http.StatusOK, http.MethodPut, s.TypesPath()+"/one/archive", []byte("null")).Text(t),
			"OK", "answered")
	}
	list := func() (shown []string) {
		var all []apitest.AttestationTypeBody
		s.Want(http.StatusOK, http.MethodGet, s.TypesPath(), nil).Decode(t, &all)
		for _, one := range all {
			shown = append(shown, fmt.Sprintf("%s %v %d", one.Name, one.Archived, len(one.Versions)))
		}
		return shown
	}
	apitest.EqualList(t, list(), []string{"one true 1", "two false 1"})
	if !s.GetAttestationType("one").Archived || !s.GetAttestationType("one?version=1").Archived {
		t.Error("it is not shown as archived")
	}
	s.AttestCustom(http.StatusBadRequest, "one", `{}`)
	s.CreateAttestationType(`{"name":"one"}`)
	apitest.EqualList(t, list(), []string{"one false 2", "two false 1"})
	s.AttestCustom(http.StatusCreated, "one", `{}`)
}

func TestUnknownAttestationTypesAreNotFound(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateAttestationType(`{"name":"ours"}`)
	text := "Custom attestation type 'theirs' does not exist for org '" + s.Org + "'"
	for method, path := range map[string]string{http.MethodGet: "/theirs", http.MethodPut: "/theirs/archive"} {
		t.Run(method+" "+path, func(t *testing.T) {
			s := s.In(t)
			apitest.WantMessage(t, s.Want(http.StatusNotFound, method, s.TypesPath()+path, nil), text)
		})
	}
	apitest.WantMessage(t, s.Want(http.StatusNotFound, http.MethodGet, s.TypesPath()+"/theirs?version=1", nil), text)
	apitest.WantMessage(t, s.AttestCustom(http.StatusNotFound, "theirs", `{}`), text)
	s.Want(http.StatusNotFound, http.MethodGet, "/custom-attestation-types/"+s.Public+"/ours", nil)
	if got := s.Want(http.StatusOK, http.MethodGet, "/custom-attestation-types/"+s.Public, nil); string(got.Body) != "[]" && string(got.Body) != "[]\n" {
		t.Errorf("another organization lists %s", got.Body)
	}
}

func TestBadAttestationTypesAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	type testCase struct {
		data   string
		schema string
		field  string
		text   string
	}
	apitest.Each(s, map[string]testCase{
		"bad jq":           {data: `{"name":"x","evaluator":{"content_type":"jq","rules":["true",".a >"]}}`, field: "evaluator.rules[1]", text: "Input should be a valid jq expression: unexpected EOF [input: .a >]"},
		"unknown function": {data: `{"name":"x","evaluator":{"rules":["nothing(1)"]}}`, field: "evaluator.rules[0]", text: "Input should be a valid jq expression: function not defined: nothing/1 [input: nothing(1)]"},
		"input":            {data: `{"name":"x","evaluator":{"rules":["input"]}}`, field: "evaluator.rules[0]", text: "Input should be a valid jq expression: input(s)/0 is not allowed [input: input]"},
		"module":           {data: `{"name":"x","evaluator":{"rules":["import \"a\" as a; true"]}}`, field: "evaluator.rules[0]", text: `Input should be a valid jq expression: modules are not available [input: import "a" as a; true]`},
		"empty rule":       {data: `{"name":"x","evaluator":{"rules":[" "]}}`, field: "evaluator.rules[0]", text: "Input should be a valid jq expression: empty [input:  ]"},
		"summary":          {data: `{"name":"x","summary":[{"name":"n","expression":"]"}]}`, field: "summary[0].expression", text: `Input should be a valid jq expression: unexpected token "]" [input: ]]`},
		"no JSON":          {data: `{"name":"x"}`, schema: `{"type":`, field: "type_schema", text: "Input should be a valid JSON Schema: not JSON: unexpected end of input [input: type_schema]"},
		"empty":            {data: `{"name":"x"}`, schema: ` `, field: "type_schema", text: "Input should be a valid JSON Schema: not JSON: unexpected end of input [input: type_schema]"},
		"no object":        {data: `{"name":"x"}`, schema: `[]`, field: "type_schema", text: "Input should be a valid JSON Schema: a JSON Schema is an object [input: type_schema]"},
		"remote":           {data: `{"name":"x"}`, schema: `{"$ref":"https://example.com/a.json"}`, field: "type_schema", text: "reference to 'https://example.com/a.json' is not available"},
		"file":             {data: `{"name":"x"}`, schema: `{"$ref":"file:///etc/passwd"}`, field: "type_schema", text: "reference to 'file:///etc/passwd' is not available"},
		"bad schema":       {data: `{"name":"x"}`, schema: `{"type":"strange"}`, field: "type_schema", text: "at '#/type': Input should be a valid list; Input should be 'array'"},
		"bad pattern":      {data: `{"name":"x"}`, schema: `{"pattern":"("}`, field: "type_schema", text: "at '#/pattern': Input should be a valid regex [input: (]"},
		"loop":             {data: `{"name":"x"}`, schema: `{"$ref":"#"}`, field: "type_schema", text: "Input should be a valid JSON Schema: at '#': it applies itself to the same value without end, by way of '#' [input: type_schema]"},
		"no target":        {data: `{"name":"x"}`, schema: `{"$ref":"#/nowhere"}`, field: "type_schema", text: "Input should be a valid JSON Schema"},
		"no UTF-8":         {data: `{"name":"x"}`, schema: "{\"title\":\"\xff\"}", field: "type_schema", text: "unable to parse raw data as a unicode string"},
		"lone surrogate":   {data: `{"name":"x"}`, schema: `{"title":"\ud800"}`, field: "type_schema", text: "unable to parse raw data as a unicode string"},
		"too deep":         {data: `{"name":"x"}`, schema: strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 200), field: "type_schema", text: "nests too deep"},
		"too many parts":   {data: `{"name":"x"}`, schema: `{"allOf":[{}` + strings.Repeat(`,{}`, 6000) + `]}`, field: "type_schema", text: "has more than 5000 parts"},
	}, func(s *apitest.Service, _ string, c testCase) {
		var files []apitest.Part
		if c.schema != "" {
			files = append(files, apitest.SchemaFile(c.schema))
		}
		message, errors := s.WantForm(http.StatusBadRequest, http.MethodPost, s.TypesPath(), c.data, files...).Problem(s.T)
		if message != "Input payload validation failed" || !strings.Contains(errors[c.field], c.text) {
			s.T.Errorf("%q %q", message, errors)
		}
	})
	got := s.Form(http.MethodPost, s.TypesPath(), apitest.AdminKey, "data_json", `{"name":"x"}`, apitest.SchemaFile(strings.Repeat(" ", 10<<20+1)))
	if message, _ := got.Problem(t); got.Status != http.StatusRequestEntityTooLarge || message != "File size exceeds 10MB limit" {
		t.Errorf("too large: %d %s", got.Status, got.Body)
	}
	s.Want(http.StatusNotFound, http.MethodGet, s.TypesPath()+"/x", nil)
}

func TestExpensiveRulesAreStopped(t *testing.T) {
	t.Parallel()
	const tooMuch = "The type's schema and rules take more CPU time or memory to evaluate than is allowed"
	s := apitest.Start(t, apitest.Options{})
	s.CreateAttestationType(`{"name":"honest","evaluator":{"rules":[".a == 1"]}}`)
	type testCase struct {
		rule   string
		status int
	}
	apitest.Each(s, map[string]testCase{
		"endless-recursion": {`def f: f; f`, http.StatusCreated},
		"long-text":         {`("x" * 1e9) | length == 1`, http.StatusBadRequest},
		"long-array":        {`[] | setpath([536870911]; 1) | true`, http.StatusBadRequest},
		"doubled-text":      {`reduce range(100) as $i ("x"; . + .) | true`, http.StatusBadRequest},
	}, func(s *apitest.Service, name string, c testCase) {
		encoded, err := json.Marshal(c.rule)
		s.Must(err)
		s.CreateAttestationType(`{"name":"` + name + `","evaluator":{"rules":[` + string(encoded) + `]}}`)
		if c.status == http.StatusCreated {
			if verdictOf(s, name, `{"a":1}`) {
				s.T.Error("the verdict is true")
			}
		} else if _, errors := s.AttestCustom(c.status, name, `{"a":1}`).Problem(s.T); errors["attestation_data"] != tooMuch {
			s.T.Errorf("%q", errors)
		}
		if !verdictOf(s, "honest", `{"a":1}`) {
			s.T.Error("another rule is not true afterwards")
		}
	})
	if log := s.Log.String(); strings.Contains(log, `"a":1`) || strings.Contains(log, `\"a\":1`) {
		t.Error("a payload is in the log")
	}
}

func TestLargeSchemaIsReturnedUnchanged(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	schema := `{"type":"object","description":"` + strings.Repeat("long ", 100_000) + `","required":["a"]}`
	s.CreateAttestationType(`{"name":"large"}`, apitest.SchemaFile(schema))
	apitest.EachOf(s, []string{"large", "large?version=1"}, func(s *apitest.Service, rest string) {
		if got := s.GetAttestationType(rest).Versions[0].TypeSchema; string(got) != schema {
			s.T.Errorf("%d bytes of schema, want %d", len(got), len(schema))
		}
	})
	s.AttestCustom(http.StatusBadRequest, "large", `{}`)
	s.AttestCustom(http.StatusCreated, "large", `{"a":1}`)
}

func TestSystemAttestationTypesHaveSchemas(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	got := s.Do(http.MethodGet, "/api/v2/attestations/system-attestation-types", apitest.StrangerKey, nil)
	var body struct {
		Types []struct {
			Name     string
			Versions []struct {
				Version int
				Schema  map[string]any `json:"attestation_data_schema"`
			}
		} `json:"system_attestation_types"`
	}
	got.Decode(t, &body)
	if got.Status != http.StatusOK || len(body.Types) != 1 || body.Types[0].Name != "decision" || len(body.Types[0].Versions) != 1 || body.Types[0].Versions[0].Version != 1 {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	schema := body.Types[0].Versions[0].Schema
	if schema["type"] != "object" || fmt.Sprint(schema["required"]) != "[is_compliant]" {
		t.Errorf("schema %v", schema)
	}
	apitest.Equal(t, s.Do(http.MethodGet, "/api/v2/attestations/system-attestation-types", "", nil).Status,
		http.StatusUnauthorized, "without a key")
}
