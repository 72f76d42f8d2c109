package storage

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"attestry/evidence"
)

// CheckText refuses text that not every engine can keep: invalid UTF-8, or NUL. It is the client's mistake.
func CheckText(text string) error {
	if utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 {
		return nil
	}
	return evidence.NewError(evidence.Invalid, "Text must be valid UTF-8 without NUL characters")
}

// CheckValue accepts what a declared field can hold.
func CheckValue(value any) error {
	switch v := value.(type) {
	case nil, bool, int64:
		return nil
	case string:
		return CheckText(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("a field cannot hold %v", v)
		}
		return nil
	}
	return fmt.Errorf("a field cannot hold a %T", value)
}

// EncodeValue writes a checked value as JSON. Floats always have a point or an exponent, so that exactValue
// restores the type.
func EncodeValue(value any) string {
	switch v := value.(type) {
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return text
	case string:
		return encodeText(v)
	}
	return "null"
}

// encodeText is json.Marshal without the escapes for HTML.
func encodeText(text string) string {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		return `""` // strings always encode
	}
	return strings.TrimSuffix(buffer.String(), "\n")
}

// EncodeFields writes the fields of a checked record as a JSON object with sorted keys, without null fields.
func EncodeFields(fields map[string]any) string {
	names := make([]string, 0, len(fields))
	for name, value := range fields {
		if value != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var text strings.Builder
	for i, name := range names {
		separator := byte(',')
		if i == 0 {
			separator = '{'
		}
		text.WriteByte(separator)
		text.WriteString(encodeText(name))
		text.WriteByte(':')
		text.WriteString(EncodeValue(fields[name]))
	}
	if len(names) == 0 {
		text.WriteByte('{')
	}
	text.WriteByte('}')
	return text.String()
}

// decodeExact decodes JSON and keeps numbers as they were written.
func decodeExact(text string, into any) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}

func exactValue(value any) (any, error) {
	switch v := value.(type) {
	case nil, bool, string:
		return v, nil
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return v.Float64()
		}
		return v.Int64()
	}
	return nil, errors.New("not a value of a field")
}

// CompareValues orders values as every engine does: null, numbers by their exact value, text by its bytes, false,
// true.
func CompareValues(a, b any) int {
	if kinds := cmp.Compare(kindOf(a), kindOf(b)); kinds != 0 {
		return kinds
	}
	switch x := a.(type) {
	case string:
		return strings.Compare(x, b.(string))
	case bool:
		return compareBools(x, b.(bool))
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
		return compareIntFloat(x, b.(float64))
	case float64:
		if y, ok := b.(float64); ok {
			return cmp.Compare(x, y)
		}
		return -compareIntFloat(b.(int64), x)
	}
	return 0
}

func kindOf(value any) int {
	switch value.(type) {
	case int64, float64:
		return 1
	case string:
		return 2
	case bool:
		return 3
	}
	return 0
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// compareIntFloat compares without rounding the integer to a float.
func compareIntFloat(a int64, b float64) int {
	switch {
	case b >= 1<<63:
		return -1
	case b < -1<<63:
		return 1
	}
	whole := math.Trunc(b)
	if order := cmp.Compare(a, int64(whole)); order != 0 {
		return order
	}
	return cmp.Compare(0, b-whole)
}
