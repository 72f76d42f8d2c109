package webhooks

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"attestry/api/validation"
	"attestry/evidence"
)

var invalidInName = regexp.MustCompile(`[^a-zA-Z0-9\-_.~]`)

// The patterns of names (docs/semantics.md 1.5).
var (
	namePattern        = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9\-_.~]*$`)
	attestationPattern = regexp.MustCompile(`^[a-zA-Z0-9\-_,]+$`)
	fingerprintPattern = regexp.MustCompile(`^[a-f0-9]{64}$`)
)

// nameFrom makes the name of a flow or trail from a text. It replaces invalid characters by '-', and removes
// punctuation before the first letter or digit.
func nameFrom(text string) string {
	return strings.TrimLeft(invalidInName.ReplaceAllLiteralString(text, "-"), "-_.~")
}

// checkName adds a finding if a name does not match its pattern or is too long.
func checkName(found validation.Findings, at string, pattern *regexp.Regexp, text string) {
	switch {
	case !pattern.MatchString(text):
		found.Add(at, "String should match pattern '"+pattern.String()+"'", text)
	case utf8.RuneCountInString(text) > evidence.MaxResourceName:
		found.Add(at, validation.TooLongText(evidence.MaxResourceName), text)
	}
}
