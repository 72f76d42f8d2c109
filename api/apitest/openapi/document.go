// Package openapi compares the answers of a service with its OpenAPI document.
package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Document is the OpenAPI document that the service serves. All answers to tests are validated against it.
type Document struct {
	compiler   *jsonschema.Compiler
	Operations []Operation
	mu         sync.Mutex
}

// Operation is an operation of the document.
type Operation struct {
	Method, Path string
	pattern      *regexp.Regexp
	Content      map[string]any
}

const documentURL = "attestry://openapi"

// cachedDocument is the document of the first service. All services have the same document.
var cachedDocument struct {
	mu       sync.Mutex
	document *Document
}

// Read returns the document. The first call reads it from a service.
func Read(service string) (*Document, error) {
	cachedDocument.mu.Lock()
	defer cachedDocument.mu.Unlock()
	if cachedDocument.document != nil {
		return cachedDocument.document, nil
	}
	response, err := http.Get(service + "/api/v2/openapi.json")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the OpenAPI document is answered %s", response.Status)
	}
	cachedDocument.document, err = parseDocument(response.Body)
	return cachedDocument.document, err
}

func parseDocument(content io.Reader) (*Document, error) {
	parsed, err := jsonschema.UnmarshalJSON(content)
	if err != nil {
		return nil, err
	}
	d := &Document{compiler: jsonschema.NewCompiler()}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := d.compiler.AddResource(documentURL, parsed); err != nil {
		return nil, err
	}
	for path, item := range parsed.(map[string]any)["paths"].(map[string]any) {
		for method, described := range item.(map[string]any) {
			d.Operations = append(d.Operations, Operation{
				Method:  strings.ToUpper(method),
				Path:    path,
				pattern: pathPattern(path),
				Content: described.(map[string]any),
			})
		}
	}
	return d, nil
}

var pathParameter = regexp.MustCompile(`\\\{[^}]*\\\}`)

func pathPattern(path string) *regexp.Regexp {
	return regexp.MustCompile("^/api/v2" + pathParameter.ReplaceAllString(regexp.QuoteMeta(path), `[^/]+`) + "$")
}

// Check fails the test if an answer does not match the document. It ignores operations that the document does not have.
func (d *Document) Check(t *testing.T, method, path string, status int, body []byte) {
	t.Helper()
	path, _, _ = strings.Cut(path, "?")
	found := d.operationAt(method, path)
	if found == nil {
		return
	}
	responses := found.Content["responses"].(map[string]any)
	response, ok := responses[strconv.Itoa(status)].(map[string]any)
	if !ok {
		t.Errorf("%s %s: the document has no status %d", method, found.Path, status)
		return
	}
	described, _ := response["content"].(map[string]any)
	if _, ok := described["application/json"]; ok {
		d.validate(t, *found, status, "application/json", body)
	}
}

// operationAt returns the operation at a path, or nil. Like the router, it prefers the path with the fewest parameters.
func (d *Document) operationAt(method, path string) *Operation {
	var best *Operation
	for i, o := range d.Operations {
		if o.Method != method || !o.pattern.MatchString(path) {
			continue
		}
		if best == nil || strings.Count(o.Path, "{") < strings.Count(best.Path, "{") {
			best = &d.Operations[i]
		}
	}
	return best
}

// verbatimMembers are the members whose values are returned exactly as a client sent them.
var verbatimMembers = []string{"user_data", "attestation_data", "annotations", "junit_results", "pull_requests", "sonar_results"}

// checkPrecision fails the test if a number has more than six decimals: numbers with decimals are times and spans in
// seconds, which are exact to the microsecond.
func checkPrecision(t *testing.T, o Operation, value any) {
	t.Helper()
	switch value := value.(type) {
	case json.Number:
		if _, decimals, _ := strings.Cut(value.String(), "."); len(decimals) > 6 || strings.ContainsAny(decimals, "eE") {
			t.Errorf("%s %s: the answer has %s", o.Method, o.Path, value)
		}
	case []any:
		for _, item := range value {
			checkPrecision(t, o, item)
		}
	case map[string]any:
		for name, member := range value {
			if !slices.Contains(verbatimMembers, name) {
				checkPrecision(t, o, member)
			}
		}
	}
}

func (d *Document) validate(t *testing.T, o Operation, status int, media string, body []byte) {
	t.Helper()
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	d.mu.Lock()
	schema, err := d.compiler.Compile(documentURL + "#/paths/" + escape.Replace(o.Path) + "/" + strings.ToLower(o.Method) +
		"/responses/" + strconv.Itoa(status) + "/content/" + escape.Replace(media) + "/schema")
	d.mu.Unlock()
	if err != nil {
		t.Fatalf("%s %s: %v", o.Method, o.Path, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Errorf("%s %s: the answer is not JSON: %s", o.Method, o.Path, body)
		return
	}
	checkPrecision(t, o, value)
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s %s: the answer does not fit the document: %v", o.Method, o.Path, err)
	}
}
