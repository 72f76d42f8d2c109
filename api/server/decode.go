package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/bytedance/sonic"
	"github.com/danielgtaylor/huma/v2"

	"attestry/evidence"
	"attestry/evidence/jsontext"
)

// maxDepth is how deep JSON may nest; nothing in the contract comes near it.
const maxDepth = 100

// checker is a body type that can tell by itself that a value surely meets its
// schema, required members included. Such bodies are decoded in one strict pass.
// Check may be false for a valid value: the schema then decides.
type checker interface{ Check() bool }

// strict decodes bodies of types that are checkers. Unlike encoding/json it
// tells `Name` from `name`, as the schemas do.
var strict = sonic.Config{
	DisallowUnknownFields: true,
	CaseSensitive:         true,
	ValidateString:        true,
	CopyString:            true,
}.Froze()

// decodeStrict decodes a JSON body whose schema is s, if there is memory for it. Whatever
// is wrong goes to found; the value is then worthless.
func decodeStrict[T any](m *memory, v *validator, s *huma.Schema, body []byte, found findings) (*T, error) {
	if _, ok := any(new(T)).(checker); ok {
		if err := m.take(strictSize(body)); err != nil {
			return nil, err
		}
		if value, ok := decodeFast[T](body); ok {
			return value, nil
		}
	}
	if err := m.take(parsedSize(body)); err != nil {
		return nil, err
	}
	parsed, ok := parseJSON(body, "body", found)
	if !ok {
		return nil, nil
	}
	return decodeParsed[T](v, s, parsed, found), nil
}

func decodeFast[T any](body []byte) (*T, bool) {
	value := new(T)
	checked, ok := any(value).(checker)
	if !ok || jsontext.Invalid(body) >= 0 || bytes.Contains(body, []byte(`\u0000`)) {
		return nil, false
	}
	if err := strict.Unmarshal(body, value); err != nil {
		return nil, false
	}
	return value, checked.Check()
}

// decodeParsed validates and coerces a parsed body by its schema, then makes it
// a T.
func decodeParsed[T any](v *validator, s *huma.Schema, parsed any, found findings) *T {
	before := len(found)
	coerced := v.check(s, parsed, "", found)
	if len(found) > before {
		return nil
	}
	value := new(T)
	canonical, err := json.Marshal(coerced)
	if err == nil {
		err = json.Unmarshal(canonical, value)
	}
	if err != nil {
		found.add("body", "Invalid JSON: "+reason(err), parsed)
		return nil
	}
	return value
}

// parseJSON reads exactly one JSON value. An absent value and null are a missing
// body, at the given location. Text that is not Unicode is a finding, as the decoder
// would replace it.
func parseJSON(body []byte, at string, found findings) (any, bool) {
	if len(bytes.TrimSpace(body)) == 0 {
		found.add(at, missingText, nil)
		return nil, false
	}
	if evidence.NestsDeeper(body, maxDepth) {
		found.add(at, "Invalid JSON: recursion limit exceeded", string(body[:min(len(body), maxShown+1)]))
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	if err == nil {
		if _, err = decoder.Token(); err == nil {
			err = errTrailing
		}
	}
	switch {
	case !errors.Is(err, io.EOF):
		found.add(at, "Invalid JSON: "+reason(err), string(body[:min(len(body), utf8.UTFMax*maxShown)]))
		return nil, false
	case value == nil:
		found.add(at, missingText, nil)
		return nil, false
	}
	if offset := jsontext.Invalid(body); offset >= 0 {
		path, text := jsontext.Location(body, offset)
		found.add(cmp.Or(path, at), unreadableText, text)
		return nil, false
	}
	return value, true
}

var errTrailing = errors.New("trailing characters")

// reason words an error of encoding/json without Go's names of types.
func reason(err error) string {
	var syntax *json.SyntaxError
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return syntax.Error()
	case errors.As(err, &mistyped):
		return "unexpected " + mistyped.Value + " at " + mistyped.Field
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "unexpected end of input"
	default:
		return errTrailing.Error()
	}
}
