// Package validation validates inputs by their schemas, with the findings of the API contract.
package validation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"attestry/evidence"
)

const (
	// MaxFindings bounds the findings of a request.
	MaxFindings = 1000
	// TypeNull is the JSON Schema type of null.
	TypeNull = "null"
	// ChoicesText is the schema extension with the text for an enum's values in findings.
	ChoicesText = "x-choices"
	// PatternProperties is the extension with the schemas of members by patterns of names: map[string]*huma.Schema.
	PatternProperties = "patternProperties"
)

// Findings are validation texts by location (docs/semantics.md 1.8).
type Findings map[string]string

// Add adds a finding on the input at a location; "" is the whole body. The first finding at a location counts.
func (f Findings) Add(at, text string, input any) {
	at = cmp.Or(at, "body")
	if _, taken := f[at]; taken || len(f) >= MaxFindings {
		return
	}
	f[at] = text + " [input: " + showInput(input) + "]"
}

// Merge adds the findings of other at locations that have none.
func (f Findings) Merge(other Findings) {
	// Sorted, so that the limit always drops the same findings.
	for _, at := range slices.Sorted(maps.Keys(other)) {
		if _, taken := f[at]; !taken && len(f) < MaxFindings {
			f[at] = other[at]
		}
	}
}

// Validator validates values by huma's schemas, and converts numbers and booleans that were sent as strings.
// huma.Validate does not convert, has other texts, and wrong locations after a key with a dot (`app:1.2.3`).
type Validator struct {
	registry huma.Registry
	patterns sync.Map // pattern → *regexp.Regexp; as many as schemas have
}

// NewValidator makes a validator of the schemas of a registry.
func NewValidator(registry huma.Registry) *Validator { return &Validator{registry: registry} }

// Check validates value, adds findings at the given location, and returns the coerced value. value comes from
// encoding/json, with numbers as json.Number. Its members may be coerced already by another branch of a union. After
// MaxFindings, values are not checked.
func (v *Validator) Check(s *huma.Schema, value any, at string, found Findings) any {
	if len(found) >= MaxFindings {
		return value
	}
	for s.Ref != "" {
		s = v.registry.SchemaFromRef(s.Ref)
	}
	if value == nil && (s.Nullable || s.Type == TypeNull) {
		return nil
	}
	if union := slices.Concat(s.AnyOf, s.OneOf); len(union) > 0 {
		return v.checkUnion(union, value, at, found)
	}
	for _, part := range s.AllOf {
		value = v.Check(part, value, at, found)
	}
	switch s.Type {
	case huma.TypeBoolean:
		return checkBoolean(value, at, found)
	case huma.TypeInteger:
		return checkInteger(s, value, at, found)
	case huma.TypeNumber:
		return checkNumber(s, value, at, found)
	case huma.TypeString:
		return v.checkString(s, value, at, found)
	case huma.TypeArray:
		return v.checkArray(s, value, at, found)
	case huma.TypeObject:
		return v.checkObject(s, value, at, found)
	case TypeNull:
		found.Add(at, "Input should be None", value)
	default:
		checkFree(value, at, found)
	}
	return value
}

// checkFree checks a value without a type. Most clients could not read numbers beyond float64 in answers.
func checkFree(value any, at string, found Findings) {
	if !finite(value) {
		found.Add(at, "Input should have finite numbers only", value)
	}
}

// finite reports whether all numbers in a value are finite.
func finite(value any) bool {
	switch value := value.(type) {
	case json.Number:
		number, ok := parseNumber(value.String())
		return ok && !math.IsInf(number, 0)
	case []any:
		return !slices.ContainsFunc(value, func(item any) bool { return !finite(item) })
	case map[string]any:
		for _, item := range value {
			if !finite(item) {
				return false
			}
		}
	}
	return true
}

// checkUnion uses the first branch that is valid. If none is, it adds the findings of all. If several branches are not
// null, the location of a finding includes the name of its branch.
func (v *Validator) checkUnion(branches []*huma.Schema, value any, at string, found Findings) any {
	notNull := 0
	for _, branch := range branches {
		if branch.Type != TypeNull {
			notNull++
		}
	}
	wrong := Findings{}
	for _, branch := range branches {
		where, tried := at, Findings{}
		if notNull > 1 {
			where = Join(at, branchName(branch))
		}
		if coerced := v.Check(branch, value, where, tried); len(tried) == 0 {
			return coerced
		}
		if branch.Type != TypeNull {
			wrong.Merge(tried)
		}
	}
	found.Merge(wrong)
	return value
}

// branchName is pydantic's name of a branch of a union.
func branchName(s *huma.Schema) string {
	if s.Ref != "" {
		return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
	}
	return cmp.Or(branchNames[s.Type], "bool")
}

var branchNames = map[string]string{
	huma.TypeObject: "dict[any,any]", huma.TypeArray: "list[any]", huma.TypeString: "str", huma.TypeInteger: "int", huma.TypeNumber: "float",
}

func checkBoolean(value any, at string, found Findings) any {
	const text = "Input should be a valid boolean"
	switch value := value.(type) {
	case bool:
		return value
	case json.Number:
		if number, err := value.Float64(); err == nil && (number == 0 || number == 1) {
			return number == 1
		}
	case string:
		switch strings.ToLower(value) {
		case "1", "on", "t", "true", "y", "yes":
			return true
		case "0", "off", "f", "false", "n", "no":
			return false
		}
	default:
		found.Add(at, text, value)
		return value
	}
	found.Add(at, text+", unable to interpret input", value)
	return value
}

// checkInteger accepts integers of 64 bits.
func checkInteger(s *huma.Schema, value any, at string, found Findings) any {
	malformed := "Input should be a valid integer"
	switch value.(type) {
	case float64, json.Number:
		malformed += ", got a number with a fractional part"
	case string:
		malformed += ", unable to parse string as an integer"
	}
	digits := digitsOf(value)
	integer, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		number, ok := parseNumber(digits)
		_, isText := value.(string)
		switch {
		case !ok || number != math.Trunc(number) || isText && strings.ContainsAny(digits, "eE"):
			found.Add(at, malformed, value)
			return value
		case math.Abs(number) >= 1<<63:
			found.Add(at, "Unable to parse input string as an integer, exceeded maximum size", value)
			return value
		}
		integer = int64(number)
	}
	checkBounds(s, float64(integer), value, at, found)
	return integer
}

// digitsOf is the text of a number, which may be sent as string, "" for other types.
func digitsOf(value any) string {
	switch value := value.(type) {
	case bool:
		return map[bool]string{false: "0", true: "1"}[value]
	case int64:
		return strconv.FormatInt(value, 10)
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	case json.Number:
		return value.String()
	case string:
		return strings.TrimSpace(value)
	}
	return ""
}

// parseNumber parses a decimal number, without Go's hexadecimal, infinite and underscored forms. Numbers that exceed
// float64 are infinite.
func parseNumber(digits string) (float64, bool) {
	if digits == "" || strings.Trim(digits, "+-.0123456789eE") != "" {
		return 0, false
	}
	number, err := strconv.ParseFloat(digits, 64)
	return number, err == nil || math.IsInf(number, 0)
}

func checkNumber(s *huma.Schema, value any, at string, found Findings) any {
	malformed := "Input should be a valid number"
	if _, ok := value.(string); ok {
		malformed += ", unable to parse string as a number"
	}
	number, ok := parseNumber(digitsOf(value))
	switch {
	case !ok:
		found.Add(at, malformed, value)
		return value
	case math.IsInf(number, 0):
		found.Add(at, "Input should be a finite number", value)
		return value
	}
	checkBounds(s, number, value, at, found)
	return number
}

func checkBounds(s *huma.Schema, number float64, value any, at string, found Findings) {
	bound := func(limit *float64, broken bool, text string) {
		if limit != nil && broken {
			found.Add(at, text+" "+strconv.FormatFloat(*limit, 'f', -1, 64), value)
		}
	}
	bound(s.Minimum, s.Minimum != nil && number < *s.Minimum, "Input should be greater than or equal to")
	bound(s.ExclusiveMinimum, s.ExclusiveMinimum != nil && number <= *s.ExclusiveMinimum, "Input should be greater than")
	bound(s.Maximum, s.Maximum != nil && number > *s.Maximum, "Input should be less than or equal to")
	bound(s.ExclusiveMaximum, s.ExclusiveMaximum != nil && number >= *s.ExclusiveMaximum, "Input should be less than")
	bound(s.MultipleOf, s.MultipleOf != nil && math.Mod(number, *s.MultipleOf) != 0, "Input should be a multiple of")
}

func (v *Validator) checkString(s *huma.Schema, value any, at string, found Findings) any {
	text, ok := value.(string)
	switch {
	case len(s.Enum) > 0:
		if !ok || !slices.Contains(s.Enum, any(text)) {
			words, _ := s.Extensions[ChoicesText].(string)
			found.Add(at, "Input should be "+cmp.Or(words, ShowChoices(s.Enum)), value)
		}
	case !ok:
		found.Add(at, "Input should be a valid string", value)
	case !PlainText(text):
		found.Add(at, UnreadableText, value)
	case s.MinLength != nil && utf8.RuneCountInString(text) < *s.MinLength:
		found.Add(at, "String should have at least "+evidence.Count(*s.MinLength, "character"), value)
	case s.MaxLength != nil && utf8.RuneCountInString(text) > *s.MaxLength:
		found.Add(at, TooLongText(*s.MaxLength), value)
	case s.Format == PlainTextFormat && hasControls(text):
		found.Add(at, controlsText, value)
	case s.Pattern != "" && !v.matches(s.Pattern, text):
		found.Add(at, "String should match pattern '"+s.Pattern+"'", value)
	case urlFaults[s.Format] != nil:
		if fault := urlFaults[s.Format](text); fault != "" {
			found.Add(at, fault, text)
		}
	}
	return value
}

// TooLongText is the finding on a string of more than limit characters.
func TooLongText(limit int) string {
	return "String should have at most " + evidence.Count(limit, "character")
}

// UnreadableText is the finding on text that is not UTF-8.
const UnreadableText = "Input should be a valid string, unable to parse raw data as a unicode string"

// PlainText reports whether text is valid UTF-8 without NUL, which database engines cannot store in a name or an index.
func PlainText(text string) bool { return utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 }

// PlainTextFormat is the format of texts that people write: names, descriptions, values of tags and reasons. They have
// no control characters but tab and newline (docs/semantics.md 1.6).
const PlainTextFormat = "plain-text"

const controlsText = "String should not have control characters other than tab and newline"

// hasControls accepts a carriage return before a newline, as some editors write lines.
func hasControls(text string) bool {
	return strings.ContainsFunc(strings.ReplaceAll(text, "\r\n", "\n"), func(char rune) bool {
		return unicode.IsControl(char) && char != '\t' && char != '\n'
	})
}

// urlFaults validate texts that are shown as links, by format. uri is an absolute URL; the others may be empty or
// without a scheme.
var urlFaults = map[string]func(string) string{
	"uri": evidence.AbsoluteURLFault, "uri-reference": evidence.LinkFault, "repository-url": evidence.RepoURLFault,
}

func (v *Validator) matches(pattern, text string) bool {
	compiled, ok := v.patterns.Load(pattern)
	if !ok {
		compiled, _ = v.patterns.LoadOrStore(pattern, regexp.MustCompile(pattern))
	}
	return compiled.(*regexp.Regexp).MatchString(text)
}

func (v *Validator) checkArray(s *huma.Schema, value any, at string, found Findings) any {
	items, ok := value.([]any)
	if !ok {
		found.Add(at, "Input should be a valid list", value)
		return value
	}
	switch {
	case s.MinItems != nil && len(items) < *s.MinItems:
		found.Add(at, fmt.Sprintf("List should have at least %s after validation, not %d", evidence.Count(*s.MinItems, "item"), len(items)), value)
	case s.MaxItems != nil && len(items) > *s.MaxItems:
		found.Add(at, fmt.Sprintf("List should have at most %s after validation, not %d", evidence.Count(*s.MaxItems, "item"), len(items)), value)
	}
	for i, item := range items {
		items[i] = v.Check(s.Items, item, at+"["+strconv.Itoa(i)+"]", found)
	}
	return items
}

func (v *Validator) checkObject(s *huma.Schema, value any, at string, found Findings) any {
	members, ok := value.(map[string]any)
	if !ok {
		text := "Input should be a valid dictionary"
		if len(s.Properties) > 0 {
			text += " or object to extract fields from"
		}
		found.Add(at, text, value)
		return value
	}
	for _, name := range s.Required {
		if _, ok := members[name]; !ok {
			found.Add(Join(at, name), MissingText, nil)
		}
	}
	// Sorted, so that the limit always drops the same findings.
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if shadows(s, name) {
			delete(members, name)
			continue
		}
		// Cut, as clients choose the name, and each finding within the member repeats it.
		members[name] = v.checkMember(s, name, members[name], Join(at, Cut(name)), found)
	}
	return members
}

// shadows reports whether a schema does not describe a member, but allows it, and describes one whose name differs only
// in case. Such a member is dropped, as encoding/json would store it unchecked in the field of the other one.
func shadows(s *huma.Schema, name string) bool {
	if _, known := s.Properties[name]; known || s.AdditionalProperties != true {
		return false
	}
	for known := range s.Properties {
		if strings.EqualFold(known, name) {
			return true
		}
	}
	return false
}

// MissingText is the finding on a member or parameter that is missing.
const MissingText = "Field required"

func (v *Validator) checkMember(s *huma.Schema, name string, value any, at string, found Findings) any {
	if property, ok := s.Properties[name]; ok {
		return v.Check(property, value, at, found)
	}
	if keyed, ok := s.Extensions[PatternProperties].(map[string]*huma.Schema); ok {
		return v.checkKeyed(keyed, name, value, at, found)
	}
	switch additional := s.AdditionalProperties.(type) {
	case bool:
		if !additional {
			found.Add(at, "Extra inputs are not permitted", value)
			return value
		}
	case *huma.Schema:
		if !PlainText(name) {
			found.Add(at, UnreadableText, name)
		}
		return v.Check(additional, value, at, found)
	}
	checkFree(value, at, found)
	return value
}

// checkKeyed checks a member of a map with a pattern of names. A finding on the name is at `[key]`, as in pydantic.
func (v *Validator) checkKeyed(keyed map[string]*huma.Schema, name string, value any, at string, found Findings) any {
	for pattern, values := range keyed {
		before := len(found)
		v.checkString(&huma.Schema{Pattern: pattern, Format: PlainTextFormat}, name, Join(at, "[key]"), found)
		if len(found) == before {
			value = v.Check(values, value, at, found)
		}
	}
	return value
}

// Join is the location of a member of the value at a location.
func Join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// Fault is the error with one finding.
func Fault(at, text string, input any) error {
	found := Findings{}
	found.Add(at, text, input)
	return Invalid(found)
}

// Invalid is the error with findings, nil if there are none.
func Invalid(found Findings) error {
	if len(found) == 0 {
		return nil
	}
	return evidence.ValidationError(found)
}
