package pdf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"attestry/evidence"
	"attestry/evidence/attestation"
)

const (
	// maxSummaryLines and maxSummaryLine bound the summary of a payload, the latter in bytes.
	maxSummaryLines = 8
	maxSummaryLine  = 300
)

// summarize sums up what only this type has, nil for payloads of earlier forms.
func summarize(a *evidence.Attestation) []string {
	of, builtIn := attestation.TypeOf(a.Type)
	switch {
	case !builtIn:
		return shortened(summarizeData(a.Payload[attestation.DataMember]))
	case of.Summarize == nil:
		return nil
	}
	return shortened(of.Summarize(a.Payload[of.Member]))
}

func shortened(lines []string) []string {
	if more := len(lines) - maxSummaryLines; more > 0 {
		lines = append(lines[:maxSummaryLines:maxSummaryLines], fmt.Sprintf("and %d more", more))
	}
	for i, line := range lines {
		lines[i] = shorten(line, maxSummaryLine)
	}
	return lines
}

// summarizeData lists the members of a custom type's data that are no lists or objects.
func summarizeData(payload json.RawMessage) []string {
	var members map[string]json.RawMessage
	if json.Unmarshal(payload, &members) != nil {
		return nil
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		lines = append(lines, shorten(name, maxSummaryLine/2)+": "+shownValue(members[name]))
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
		return strings.Clone(shorten(text, maxSummaryLine))
	case value[0] == '[':
		var items []json.RawMessage
		if json.Unmarshal(value, &items) == nil {
			return "list of " + evidence.Count(len(items), "item")
		}
	case value[0] == '{':
		return "(object)"
	}
	return shorten(string(value), maxSummaryLine)
}
