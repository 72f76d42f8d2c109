package e2e_test

import (
	"encoding/json"
	"fmt"
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

// asJSON encodes a value for messages, truncated to 500 bytes.
func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text[:min(len(text), 500)])
}

// lookup follows a path into a decoded value: names of members and indexes of items.
func lookup(t *testing.T, value any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			members, ok := value.(map[string]any)
			if !ok {
				t.Fatalf("%v: no object at %q: %s", path, step, asJSON(value))
			}
			value = members[step]
		case int:
			items, ok := value.([]any)
			if !ok || step >= len(items) {
				t.Fatalf("%v: no item %d: %s", path, step, asJSON(value))
			}
			value = items[step]
		}
	}
	return value
}

// column joins the values of a member of all items of a list with blanks.
func column(t *testing.T, list any, member string) string {
	t.Helper()
	var values []string
	for _, item := range list.([]any) {
		values = append(values, fmt.Sprint(lookup(t, item, member)))
	}
	return strings.Join(values, " ")
}
