package attestation

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"attestry/evidence"
)

// Summary sums up for people what an attestation of a recorded type found, one element a line. It returns nil for types
// that are shown by their verdict alone, and for payloads of earlier forms.
func Summary(recorded string, payload map[string]json.RawMessage) []string {
	of, builtIn := TypeOf(recorded)
	switch {
	case !builtIn:
		return summarizeData(payload[DataMember])
	case of.Summarize == nil:
		return nil
	}
	return of.Summarize(payload[of.Member])
}

// summarizeData lists the members of a custom type's data that are no lists or objects.
func summarizeData(payload json.RawMessage) []string {
	var members map[string]json.RawMessage
	if json.Unmarshal(payload, &members) != nil {
		return nil
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		lines = append(lines, name+": "+shownValue(members[name]))
	}
	return lines
}

func shownValue(value json.RawMessage) string {
	value = bytes.TrimSpace(value)
	var text string
	switch {
	case len(value) == 0:
		return ""
	case value[0] == '"' && json.Unmarshal(value, &text) == nil:
		return text
	case value[0] == '[':
		var items []json.RawMessage
		if json.Unmarshal(value, &items) == nil {
			return "list of " + evidence.Count(len(items), "item")
		}
	case value[0] == '{':
		return "(object)"
	}
	return string(value)
}
