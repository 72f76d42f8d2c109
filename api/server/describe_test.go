package server

import (
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"attestry/api/access"
	"attestry/api/examples"
	"attestry/evidence"
)

// productDocument is the OpenAPI document of the product, decoded.
func productDocument(t *testing.T) map[string]any {
	t.Helper()
	s := start(t, productRoutes())
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(s.send(t, "GET", documentPath, "", "").body))
	if err != nil {
		t.Fatal(err)
	}
	return document.(map[string]any)
}

func TestDocumentSaysHowToAuthenticate(t *testing.T) {
	document := productDocument(t)
	description := document["info"].(map[string]any)["description"].(string)
	for _, text := range []string{"`Authorization: Bearer KEY`", "HTTP Basic with the key as the user name", "401", "403", "least role", "429"} {
		if !strings.Contains(description, text) {
			t.Errorf("nothing of %q in %q", text, description)
		}
	}
	for role := evidence.Reader; role <= evidence.Admin; role++ {
		if !strings.Contains(description, "`"+role.String()+"`") {
			t.Errorf("nothing of %v in %q", role, description)
		}
	}
	for name, text := range map[string]string{"bearer": "Authorization: Bearer KEY", "basic": "as the user name"} {
		scheme := document["components"].(map[string]any)["securitySchemes"].(map[string]any)[name].(map[string]any)
		if !strings.Contains(scheme["description"].(string), text) {
			t.Errorf("%s is described as %q", name, scheme["description"])
		}
	}
}

func TestEveryOperationNamesItsLeastRole(t *testing.T) {
	paths := productDocument(t)["paths"].(map[string]any)
	for _, route := range productRoutes() {
		operation := paths[route.Path].(map[string]any)[strings.ToLower(route.Method)].(map[string]any)
		want := "any valid API key"
		switch {
		case route.Signed:
			want = "a signature"
		case route.Public:
			want = "Needs no API key."
		}
		if route.ofOrganization() {
			want = "the role `" + route.MinRole.String() + "`"
		}
		if got := operation["description"].(string); !strings.Contains(got, want) {
			t.Errorf("%s is described as %q, want %q", route.OperationID, got, want)
		}
	}
	if got := (Route{Public: true, Signed: true}).access(); got != "Needs no API key, but a signature with the secret of the webhook." {
		t.Errorf("a signed operation says %q", got)
	}
	if got := (Route{Public: true}).access(); got != "Needs no API key." {
		t.Errorf("a public operation: %q", got)
	}
	if got := (Route{Path: "/{org}", Rule: access.Rule{MinRole: evidence.Admin}}).access(); got != "Needs the role `admin` in the organization." {
		t.Errorf("an operation of administrators: %q", got)
	}
}

// exampleChecker validates the examples of a document against its own schemas.
type exampleChecker struct {
	t        *testing.T
	compiler *jsonschema.Compiler
}

const documentURL = "attestry://openapi"

func (c *exampleChecker) check(holder map[string]any, pointer ...string) {
	c.t.Helper()
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D", "*", "%2A")
	for i, segment := range pointer {
		pointer[i] = escape.Replace(segment)
	}
	at := documentURL + "#/" + strings.Join(pointer, "/") + "/schema"
	example, ok := holder["example"]
	if !ok {
		c.t.Errorf("%s has no example", at)
		return
	}
	schema, err := c.compiler.Compile(at)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := schema.Validate(example); err != nil {
		c.t.Errorf("%s: the example does not fit: %v", at, err)
	}
}

func TestNoOperationHasTwoExamples(t *testing.T) {
	byFile, err := examples.Files()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for name, examples := range byFile {
		for _, example := range examples {
			if other := files[example.Operation]; other != "" {
				t.Errorf("%s has examples in %s and %s", example.Operation, other, name)
			}
			files[example.Operation] = name
		}
	}
}

func TestEveryOperationHasExamplesThatFitItsSchemas(t *testing.T) {
	document := productDocument(t)
	c := &exampleChecker{t: t, compiler: jsonschema.NewCompiler()}
	c.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := c.compiler.AddResource(documentURL, document); err != nil {
		t.Fatal(err)
	}
	for path, item := range document["paths"].(map[string]any) {
		for method, described := range item.(map[string]any) {
			c.checkOperation(described.(map[string]any), "paths", path, method)
		}
	}
}

func (c *exampleChecker) checkOperation(operation map[string]any, pointer ...string) {
	c.t.Helper()
	at := func(more ...string) []string { return append(append([]string{}, pointer...), more...) }
	parameters, _ := operation["parameters"].([]any)
	for i, each := range parameters {
		parameter := each.(map[string]any)
		if _, shown := parameter["example"]; shown || parameter["required"] == true {
			c.check(parameter, at("parameters", strconv.Itoa(i))...)
		}
	}
	if body, ok := operation["requestBody"].(map[string]any); ok {
		for media, content := range body["content"].(map[string]any) {
			c.check(content.(map[string]any), at("requestBody", "content", media)...)
		}
	}
	for status, each := range operation["responses"].(map[string]any) {
		if status >= "300" {
			continue
		}
		content, ok := each.(map[string]any)["content"].(map[string]any)
		if !ok {
			c.t.Errorf("%v: nothing is said of the answer %s", pointer, status)
		}
		for media, shown := range content {
			c.check(shown.(map[string]any), at("responses", status, "content", media)...)
		}
	}
}
