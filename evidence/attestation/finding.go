package attestation

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// The texts of findings, which clients depend on (docs/semantics.md 1.8).
const (
	missingText = "Field required"
	extraText   = "Extra inputs are not permitted"
	objectText  = "Input should be a valid dictionary or object to extract fields from"
)

// maxShown bounds an invalid value in a finding, in characters.
const maxShown = 200

// shown returns the end of a finding with the invalid value. raw is nil if the value is absent.
func shown(raw json.RawMessage) string {
	value := strings.TrimSpace(string(raw))
	var text string
	switch {
	case raw == nil || value == "null":
		value = "None"
	case value == "true":
		value = "True"
	case value == "false":
		value = "False"
	case strings.HasPrefix(value, `"`) && json.Unmarshal(raw, &text) == nil:
		value = text
	}
	return " [input: " + cut(value) + "]"
}

// cut shortens a text to maxShown characters.
func cut(text string) string {
	if utf8.RuneCountInString(text) <= maxShown {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.ToValidUTF8(string([]rune(text)[:maxShown]), "\uFFFD") + "…"
}
