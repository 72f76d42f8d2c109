package attestation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"attestry/evidence"
)

const (
	// maxViolations bounds the locations that are reported for one value, and maxViolationBytes the size of their JSON
	// pointers and texts, but for the last one.
	maxViolations     = 100
	maxViolationBytes = 32 << 10
	// maxAlternatives bounds the texts for one location, and maxChoices the values that one text lists.
	maxAlternatives = 5
	maxChoices      = 50
)

// violations describes the violations of a schema by a value, by JSON pointer. The text of a location has all of its
// violations, such as one for each alternative.
func violations(invalid *jsonschema.ValidationError, value any) map[string]string {
	c := collector{value: value, texts: map[string][]string{}, inputs: map[string]string{}}
	queue := []*jsonschema.ValidationError{invalid}
	for len(queue) > 0 && !c.full() {
		queue = append(queue[1:], c.collect(queue[0])...)
	}
	found := make(map[string]string, len(c.texts))
	for at, texts := range c.texts {
		found[at] = strings.Join(texts, "; ") + c.inputs[at]
	}
	return found
}

type collector struct {
	value  any
	texts  map[string][]string // by JSON pointer
	inputs map[string]string   // by JSON pointer
	size   int                 // bytes of all of these
}

func (c *collector) full() bool { return len(c.texts) >= maxViolations || c.size >= maxViolationBytes }

// collect adds the violation of an error, or returns its causes.
func (c *collector) collect(invalid *jsonschema.ValidationError) []*jsonschema.ValidationError {
	location := invalid.InstanceLocation
	switch k := invalid.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			c.add(missingText, location, name)
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			c.add(extraText, location, name)
		}
	case *kind.PropertyNames:
		text := "The name of the member should fit the schema's 'propertyNames'"
		for _, cause := range invalid.Causes {
			if format, ok := cause.ErrorKind.(*kind.Format); ok {
				text = "The name of the member should be a valid " + format.Want
			}
		}
		c.add(text, location, k.Property)
	case *kind.Contains, *kind.MinContains:
		// The causes are the mismatches of each item.
		c.add(describe(invalid), location)
	default:
		if len(invalid.Causes) > 0 {
			return invalid.Causes
		}
		c.add(describe(invalid), location)
	}
	return nil
}

func (c *collector) add(text string, location []string, member ...string) {
	if c.full() {
		return
	}
	steps := slices.Concat(location, member)
	at := cut(pointer(steps...))
	texts := c.texts[at]
	if text = cut(text); len(texts) >= maxAlternatives || slices.Contains(texts, text) {
		return
	}
	input := shownAt(c.value, steps)
	c.texts[at], c.inputs[at] = append(texts, text), input
	c.size += len(at) + len(text) + len(input)
}

// shownAt is the end of a finding: the value at a location. Objects and lists are abbreviated.
func shownAt(value any, steps []string) string {
	for _, step := range steps {
		switch parent := value.(type) {
		case map[string]any:
			value = parent[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(parent) {
				return shown(nil)
			}
			value = parent[i]
		}
	}
	switch value.(type) {
	case map[string]any:
		return shown(json.RawMessage("{…}"))
	case []any:
		return shown(json.RawMessage("[…]"))
	default:
		encoded, _ := json.Marshal(value) // it was decoded from JSON
		return shown(encoded)
	}
}

// describe returns the text of a violation.
func describe(invalid *jsonschema.ValidationError) string {
	switch k := invalid.ErrorKind.(type) {
	case *kind.Type:
		return "Input should be " + either(k.Want, describeType)
	case *kind.Enum:
		return "Input should be " + either(k.Want, describeValue)
	case *kind.Const:
		return "Input should be " + describeValue(k.Want)
	case *kind.FalseSchema:
		return extraText
	case *kind.Minimum:
		return "Input should be greater than or equal to " + describeNumber(k.Want)
	case *kind.ExclusiveMinimum:
		return "Input should be greater than " + describeNumber(k.Want)
	case *kind.Maximum:
		return "Input should be less than or equal to " + describeNumber(k.Want)
	case *kind.ExclusiveMaximum:
		return "Input should be less than " + describeNumber(k.Want)
	case *kind.MultipleOf:
		return "Input should be a multiple of " + describeNumber(k.Want)
	case *kind.Pattern:
		return "String should match pattern '" + k.Want + "'"
	case *kind.MinLength:
		return "String should have at least " + evidence.Count(k.Want, "character")
	case *kind.MaxLength:
		return "String should have at most " + evidence.Count(k.Want, "character")
	case *kind.MinItems:
		return fmt.Sprintf("List should have at least %s after validation, not %d", evidence.Count(k.Want, "item"), k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("List should have at most %s after validation, not %d", evidence.Count(k.Want, "item"), k.Got)
	case *kind.MinProperties:
		return fmt.Sprintf("Dictionary should have at least %s after validation, not %d", evidence.Count(k.Want, "item"), k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("Dictionary should have at most %s after validation, not %d", evidence.Count(k.Want, "item"), k.Got)
	case *kind.Format:
		return "Input should be a valid " + k.Want
	default:
		alone := jsonschema.ValidationError{SchemaURL: invalid.SchemaURL, ErrorKind: k}
		return "Input should fit the type's schema: " + alone.BasicOutput().Error.String()
	}
}

// typeNames are the types of JSON that have other names in findings.
var typeNames = map[string]string{"null": "None", "array": "a valid list", "object": "a valid dictionary"}

func describeType(name string) string { return cmp.Or(typeNames[name], "a valid "+name) }

func describeValue(value any) string {
	if text, ok := value.(string); ok {
		return "'" + text + "'"
	}
	encoded, _ := json.Marshal(value) // it was decoded from JSON
	return string(encoded)
}

func describeNumber(number *big.Rat) string {
	if number.IsInt() {
		return number.Num().String()
	}
	float, _ := number.Float64()
	return strconv.FormatFloat(float, 'g', -1, 64)
}

// either lists choices, the last one after "or".
func either[T any](choices []T, describe func(T) string) string {
	return english.WordSeries(evidence.Map(choices[:min(len(choices), maxChoices)], describe), "or")
}

// pointer is the JSON pointer (RFC 6901) of the steps.
func pointer(steps ...string) string {
	var at jsontext.Pointer
	for _, step := range steps {
		at = at.AppendToken(step)
	}
	return string(at)
}
