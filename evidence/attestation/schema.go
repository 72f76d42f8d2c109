package attestation

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"attestry/evidence"
	"attestry/evidence/jsontext"
	"attestry/evidence/pattern"
)

const (
	// schemaURL is the base URL of references in a type's schema. Nothing is ever fetched.
	schemaURL = "attestation-type:///type_schema"
	// maxSubschemas bounds the objects of a schema. The time to compile it is quadratic in their number, here 0.2 s.
	maxSubschemas = 5000
)

// notApplicable is the finding for a payload whose type has a schema that cannot be evaluated.
const notApplicable = "The type's schema cannot be applied to it"

// refusedLoader refuses references out of a schema. The drafts of JSON Schema are built into the library.
type refusedLoader struct{}

func (refusedLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference to '%s' is not available: a schema refers to itself only", url)
}

// Schema is a compiled JSON Schema. It is not safe for concurrent use.
type Schema struct {
	root *jsonschema.Schema
	work *work
	// patterns has the regular expressions of the schema, and later those of the payload, which the format regex compiles.
	patterns *pattern.Set
}

// CompileSchema compiles a schema for the evaluation of payloads. A schema that may loop is an Invalid error, since a
// loop under a "not" can make a payload fit; earlier versions stored such schemas. ErrTooMuchWork means that it takes
// too much memory to compile. Any other error means that the schema does not compile.
func CompileSchema(source json.RawMessage) (*Schema, error) {
	schema, err := compileSchema(source)
	if errors.Is(err, pattern.ErrFull) {
		return nil, ErrTooMuchWork
	}
	if err != nil {
		return nil, fmt.Errorf("compile the schema: %w", err)
	}
	if err := checkLoops(schema.root); err != nil {
		return nil, evidence.ValidationError(map[string]string{DataMember: notApplicable})
	}
	// The library checks the format of a part before its subschemas, so a format can count the applications of the part.
	// Work that precedes the format, such as comparing with an enum, is counted by the enclosing part.
	for _, part := range reachable(schema.root) {
		part.Format = schema.work.countedFormat(part)
	}
	return schema, nil
}

// compileSchema compiles a JSON Schema, draft 7 unless it names another one. The error is for the client.
func compileSchema(source json.RawMessage) (schema *Schema, err error) {
	defer func() {
		if recover() != nil {
			schema, err = nil, errors.New("not a JSON Schema that can be compiled")
		}
	}()
	document, err := decodeSchema(source)
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft7)
	compiler.UseLoader(refusedLoader{})
	work, patterns := &work{most: maxWork}, pattern.NewSet(maxPatterns, maxPatterns)
	compiler.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) {
		compiled, err := patterns.Compile(unicodeEscape.ReplaceAllStringFunc(text, translateEscape))
		if err != nil {
			return nil, err
		}
		return countedPattern{compiled, text, work}, nil
	})
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return nil, err
	}
	root, err := compiler.Compile(schemaURL)
	if patterns.Full() {
		return nil, pattern.ErrFull
	}
	if err != nil {
		return nil, errors.New(schemaFault(err, document))
	}
	return &Schema{root, work, patterns}, nil
}

// unicodeEscape matches the escapes of ECMA-262 that name a character by four digits, but not those of surrogates. It
// also matches all other escapes, so that the second of two backslashes begins none.
var unicodeEscape = regexp.MustCompile(`(?s)\\(?:u(?:[0-9A-CE-Fa-ce-f][0-9A-Fa-f]|[Dd][0-7])[0-9A-Fa-f]{2}|.)`)

// translateEscape returns a `\u0041` of ECMA-262 as Go writes it, and other escapes unchanged.
func translateEscape(escape string) string {
	if len(escape) == len(`\u0041`) {
		return `\x{` + escape[2:] + `}`
	}
	return escape
}

// decodeSchema decodes a schema that is small enough to be compiled.
func decodeSchema(source json.RawMessage) (any, error) {
	if jsontext.NestsDeeper(source, MaxDepth) {
		return nil, errors.New("nests too deep")
	}
	document, err := decodeJSON(source)
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, ok := document.(map[string]any); !ok {
		return nil, errors.New("a JSON Schema is an object")
	}
	if at, err := checkNumbers(document); err != nil {
		return nil, fmt.Errorf("at '#%s': %w", cut(at), err)
	}
	if countObjects(document) > maxSubschemas {
		return nil, fmt.Errorf("has more than %d parts", maxSubschemas)
	}
	return document, nil
}

func countObjects(value any) int {
	count := 0
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			count += countObjects(item)
		}
	case map[string]any:
		count = 1
		for _, item := range value {
			count += countObjects(item)
		}
	}
	return count
}

// schemaFault describes an error of a schema, with its location.
func schemaFault(err error, document any) string {
	var broken *jsonschema.SchemaValidationError
	var invalid *jsonschema.ValidationError
	if errors.As(err, &broken) && errors.As(broken.Err, &invalid) {
		// The deepest violation most likely belongs to the alternative that was meant.
		found := violations(invalid, document)
		at := slices.MaxFunc(slices.Sorted(maps.Keys(found)), func(a, b string) int {
			return strings.Count(a, "/") - strings.Count(b, "/")
		})
		return "at '#" + at + "': " + found[at]
	}
	return cut(strings.ReplaceAll(err.Error(), schemaURL, ""))
}

// validate returns an Invalid error with all violations, or ErrTooMuchWork.
func validate(schema *Schema, payload any) (err error) {
	schema.work.left = schema.work.most
	// Schemas are cached, so the expressions of earlier payloads would count, too.
	*schema.patterns = *pattern.NewSet(maxPatterns, maxPatterns)
	defer func() {
		switch fault := recover(); fault {
		case nil:
		case ErrTooMuchWork:
			err = ErrTooMuchWork
		default:
			err = evidence.ValidationError(map[string]string{DataMember: notApplicable})
		}
	}()
	var invalid *jsonschema.ValidationError
	err = schema.root.Validate(payload)
	if schema.patterns.Full() {
		return ErrTooMuchWork
	}
	if !errors.As(err, &invalid) {
		return err
	}
	found := map[string]string{}
	for at, text := range violations(invalid, payload) {
		found[DataMember+at] = text
	}
	return evidence.ValidationError(found)
}
