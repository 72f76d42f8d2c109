package validation

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	strictjson "github.com/go-json-experiment/json"

	"attestry/api/memory"
	"attestry/evidence/jsontext"
)

// maxDepth bounds the nesting of JSON. No valid body is nearly as deep.
const maxDepth = 100

// checker is a body type with a fast check of its schema, including required members. Such bodies are decoded in one
// strict pass. Check is true only for valid values. If it is false, the value is validated by the schema.
type checker interface{ Check() bool }

var rejectUnknown = strictjson.RejectUnknownMembers(true)

// DecodeStrict decodes a JSON body with schema s, if there is memory for it. It adds errors of the body to found; the
// returned value is then not valid.
func DecodeStrict[T any](m *memory.Account, v *Validator, s *huma.Schema, body []byte, found Findings) (*T, error) {
	if _, ok := any(new(T)).(checker); ok {
		if err := m.Take(StrictSize(body)); err != nil {
			return nil, err
		}
		if value, ok := DecodeFast[T](body); ok {
			return value, nil
		}
	}
	if err := m.Take(ParsedSize(body)); err != nil {
		return nil, err
	}
	parsed, ok := ParseJSON(body, "body", found)
	if !ok {
		return nil, nil
	}
	return DecodeParsed[T](v, s, parsed, "", found), nil
}

// DecodeFast decodes a body in one strict pass, and reports whether it is valid. If not, the schema decides.
func DecodeFast[T any](body []byte) (*T, bool) {
	value := new(T)
	checked, ok := any(value).(checker)
	if !ok || bytes.Contains(body, []byte(`\u0000`)) {
		return nil, false
	}
	if err := strictjson.Unmarshal(body, value, rejectUnknown); err != nil {
		return nil, false
	}
	return value, checked.Check()
}

// DecodeParsed validates and coerces a parsed value at a location by its schema, and converts it to a T. It returns nil
// if the value is not valid.
func DecodeParsed[T any](v *Validator, s *huma.Schema, parsed any, at string, found Findings) *T {
	before := len(found)
	coerced := v.Check(s, parsed, at, found)
	if len(found) > before {
		return nil
	}
	value := new(T)
	canonical, err := json.Marshal(coerced)
	if err == nil {
		err = json.Unmarshal(canonical, value)
	}
	if err != nil {
		found.Add(at, "Invalid JSON: "+reason(err), parsed)
		return nil
	}
	return value
}

// ParseJSON parses exactly one JSON value. An empty body, or null, is missing at the given location. Invalid Unicode
// and repeated keys are findings, as the decoder would replace the former and drop values of the latter.
func ParseJSON(body []byte, at string, found Findings) (any, bool) {
	if len(bytes.TrimSpace(body)) == 0 {
		found.Add(at, MissingText, nil)
		return nil, false
	}
	if jsontext.NestsDeeper(body, maxDepth) {
		found.Add(at, "Invalid JSON: recursion limit exceeded", string(body[:min(len(body), MaxShown+1)]))
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
		found.Add(at, "Invalid JSON: "+reason(err), string(body[:min(len(body), utf8.UTFMax*MaxShown)]))
		return nil, false
	case value == nil:
		found.Add(at, MissingText, nil)
		return nil, false
	}
	if offset := jsontext.Invalid(body); offset >= 0 {
		path, text := jsontext.Location(body, offset)
		found.Add(cmp.Or(path, at), UnreadableText, text)
		return nil, false
	}
	if path, key, repeated := jsontext.Repeated(body); repeated {
		found.Add(path, jsontext.RepeatedText, key)
		return nil, false
	}
	return value, true
}

var errTrailing = errors.New("trailing characters")

// reason is the text of an error of encoding/json without names of Go types.
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

// The memory for decoding depends more on the number of values in a body than on its length: three bytes may become a
// struct. The factors are upper bounds of the measured heap growth.

// StrictSize is the maximum memory of a body that is decoded in one strict pass, in bytes, without the raw body.
func StrictSize(body []byte) int64 {
	return int64(len(body)) + 200*occurrences(body, "{") + 64*occurrences(body, ",") + 32*occurrences(body, "[")
}

// ParsedSize is StrictSize for a body that is parsed and validated by its schema.
func ParsedSize(body []byte) int64 {
	return 4*int64(len(body)) + 200*occurrences(body, "{") + 160*occurrences(body, ",") + 64*occurrences(body, "[")
}

func occurrences(body []byte, character string) int64 {
	return int64(bytes.Count(body, []byte(character)))
}

const (
	unescapableText = "Input should be a valid string, unable to undo its escapes"
	semicolonText   = "Input should be a valid string, with ';' sent as %3B"
)

// ParseQuery parses a query. A parameter that cannot be parsed is a finding, as it must not be treated as absent. This
// includes one with a `;`, which ends a parameter for some parsers.
func ParseQuery(raw string, found Findings) url.Values {
	query := url.Values{}
	for pair := range strings.SplitSeq(raw, "&") {
		parsed, err := url.ParseQuery(pair)
		if err != nil {
			addUnreadable(pair, found)
			continue
		}
		for name, values := range parsed {
			query[name] = append(query[name], values...)
		}
	}
	return query
}

// addUnreadable adds the finding for a parameter that cannot be parsed, at its unescaped name if possible.
func addUnreadable(pair string, found Findings) {
	name, value, _ := strings.Cut(pair, "=")
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	text := unescapableText
	if strings.Contains(pair, ";") {
		text = semicolonText
	}
	found.Add("query."+Cut(name), text, value)
}
