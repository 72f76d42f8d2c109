package apitest

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
)

// jsonType names the kind of a decoded value.
func jsonType(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "bool"
	case float64, json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	default:
		return "object"
	}
}

// AsJSON encodes a value for messages, truncated to 500 bytes.
func AsJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text[:min(len(text), 500)])
}

// Lookup follows a path into a decoded value: names of members and indexes of items.
func Lookup(t *testing.T, value any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			members, ok := value.(map[string]any)
			if !ok {
				t.Fatalf("%v: no object at %q: %s", path, step, AsJSON(value))
			}
			value = members[step]
		case int:
			items, ok := value.([]any)
			if !ok || step >= len(items) {
				t.Fatalf("%v: no item %d: %s", path, step, AsJSON(value))
			}
			value = items[step]
		}
	}
	return value
}

// Column joins the values of a member of all items of a list with blanks.
func Column(t *testing.T, list any, member string) string {
	t.Helper()
	var values []string
	for _, item := range list.([]any) {
		values = append(values, fmt.Sprint(Lookup(t, item, member)))
	}
	return strings.Join(values, " ")
}

// QuoteJSON quotes a text that needs no escapes but those of quotation marks.
func QuoteJSON(text string) string { return `"` + strings.ReplaceAll(text, `"`, `\"`) + `"` }

// WantMicroseconds fails the test when a number has more than six decimals.
func WantMicroseconds(t *testing.T, value any) float64 {
	t.Helper()
	number := value.(float64)
	if math.Round(number*1e6)/1e6 != number {
		t.Errorf("%v is not rounded to microseconds", number)
	}
	return number
}
