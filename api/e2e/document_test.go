package e2e_test

import (
	"bytes"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// document is the OpenAPI document that the service describes itself with. Every
// answer that tests get is validated against it.
type document struct {
	compiler   *jsonschema.Compiler
	operations []operation
	mu         sync.Mutex
}

type operation struct {
	method, path string
	pattern      *regexp.Regexp
	content      map[string]any
}

const documentURL = "attestry://openapi.json"

func (s *service) readDocument() *document {
	s.t.Helper()
	got := s.do(http.MethodGet, "/api/v2/openapi.json", "", nil)
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(got.body))
	if err != nil || got.status != http.StatusOK {
		s.t.Fatalf("status %d, %v", got.status, err)
	}
	d := &document{compiler: jsonschema.NewCompiler()}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := d.compiler.AddResource(documentURL, parsed); err != nil {
		s.t.Fatal(err)
	}
	for path, item := range parsed.(map[string]any)["paths"].(map[string]any) {
		for method, described := range item.(map[string]any) {
			d.operations = append(d.operations, operation{
				method:  strings.ToUpper(method),
				path:    path,
				pattern: pathPattern(path),
				content: described.(map[string]any),
			})
		}
	}
	return d
}

var pathParameter = regexp.MustCompile(`\\\{[^}]*\\\}`)

func pathPattern(path string) *regexp.Regexp {
	return regexp.MustCompile("^/api/v2" + pathParameter.ReplaceAllString(regexp.QuoteMeta(path), `[^/]+`) + "$")
}

// check fails the test when an operation gives an answer that the document does
// not know.
func (d *document) check(t *testing.T, method, path string, status int, body []byte) {
	t.Helper()
	path, _, _ = strings.Cut(path, "?")
	found := d.operationAt(method, path)
	if found == nil {
		return
	}
	responses := found.content["responses"].(map[string]any)
	response, ok := responses[strconv.Itoa(status)].(map[string]any)
	if !ok {
		t.Errorf("%s %s: the document knows no status %d", method, found.path, status)
		return
	}
	described, _ := response["content"].(map[string]any)
	if _, ok := described["application/json"]; ok {
		d.validate(t, *found, status, "application/json", body)
	}
}

// operationAt prefers the path with the fewest parameters, as the router does.
func (d *document) operationAt(method, path string) *operation {
	var best *operation
	for i, o := range d.operations {
		if o.method != method || !o.pattern.MatchString(path) {
			continue
		}
		if best == nil || strings.Count(o.path, "{") < strings.Count(best.path, "{") {
			best = &d.operations[i]
		}
	}
	return best
}

func (d *document) validate(t *testing.T, o operation, status int, media string, body []byte) {
	t.Helper()
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	d.mu.Lock()
	schema, err := d.compiler.Compile(documentURL + "#/paths/" + escape.Replace(o.path) + "/" + strings.ToLower(o.method) +
		"/responses/" + strconv.Itoa(status) + "/content/" + escape.Replace(media) + "/schema")
	d.mu.Unlock()
	if err != nil {
		t.Fatalf("%s %s: %v", o.method, o.path, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Errorf("%s %s: the answer is no JSON: %s", o.method, o.path, body)
		return
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s %s: the answer does not fit the document: %v", o.method, o.path, err)
	}
}
