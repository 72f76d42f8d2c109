package storage

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
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

// encodeValue writes a checked value as JSON. Floats always have a point or an exponent, so that exactValue
// restores the type.
func encodeValue(value any) (json.RawMessage, error) {
	number, ok := value.(float64)
	if !ok {
		return json.Marshal(value)
	}
	text := strconv.FormatFloat(number, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return json.RawMessage(text), nil
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

// CompareValues orders values as every engine does: null, numbers by their exact value, text by its bytes, false, true.
func CompareValues(a, b any) int {
	if kinds := cmp.Compare(kindOf(a), kindOf(b)); kinds != 0 {
		return kinds
	}
	switch x := a.(type) {
	case string:
		return strings.Compare(x, b.(string))
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
	switch value {
	case nil:
		return 0
	case false:
		return 3
	case true:
		return 4
	}
	if _, ok := value.(string); ok {
		return 2
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
