package e2e_test

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

	"attestry/evidence"
)

// document is the OpenAPI document that the service serves. All answers to tests are validated against it.
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

// cachedDocument is the document of the first service. All services have the same document.
var cachedDocument struct {
	mu       sync.Mutex
	document *document
}

// openAPI returns the document. The first call reads it from a service.
func openAPI(service string) (*document, error) {
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

func parseDocument(content io.Reader) (*document, error) {
	parsed, err := jsonschema.UnmarshalJSON(content)
	if err != nil {
		return nil, err
	}
	d := &document{compiler: jsonschema.NewCompiler()}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := d.compiler.AddResource(documentURL, parsed); err != nil {
		return nil, err
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
	return d, nil
}

var pathParameter = regexp.MustCompile(`\\\{[^}]*\\\}`)

func pathPattern(path string) *regexp.Regexp {
	return regexp.MustCompile("^/api/v2" + pathParameter.ReplaceAllString(regexp.QuoteMeta(path), `[^/]+`) + "$")
}

// check fails the test if an answer does not match the document. It ignores operations that the document does not have.
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
		t.Errorf("%s %s: the document has no status %d", method, found.path, status)
		return
	}
	described, _ := response["content"].(map[string]any)
	if _, ok := described["application/json"]; ok {
		d.validate(t, *found, status, "application/json", body)
	}
}

// operationAt returns the operation at a path, or nil. Like the router, it prefers the path with the fewest parameters.
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

// verbatimMembers are the members whose values are returned exactly as a client sent them.
var verbatimMembers = []string{"user_data", "attestation_data", "annotations", "junit_results", "pull_requests", "sonar_results"}

// checkPrecision fails the test if a number has more than six decimals: numbers with decimals are times and spans in
// seconds, which are exact to the microsecond.
func checkPrecision(t *testing.T, o operation, value any) {
	t.Helper()
	switch value := value.(type) {
	case json.Number:
		if _, decimals, _ := strings.Cut(value.String(), "."); len(decimals) > 6 || strings.ContainsAny(decimals, "eE") {
			t.Errorf("%s %s: the answer has %s", o.method, o.path, value)
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
		t.Errorf("%s %s: the answer is not JSON: %s", o.method, o.path, body)
		return
	}
	checkPrecision(t, o, value)
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s %s: the answer does not fit the document: %v", o.method, o.path, err)
	}
}

func TestEmptyBoundsOfTheEventLogAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("host", evidence.Server)
	for _, parameter := range []string{"start", "end"} {
		t.Run(parameter, func(t *testing.T) {
			s.in(t).wantError(http.StatusBadRequest, "Invalid interval value: ", http.MethodGet, s.environmentsPath()+"/host/events?"+parameter+"=", "")
		})
	}
}
