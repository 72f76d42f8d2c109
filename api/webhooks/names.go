package webhooks

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"attestry/api/validation"
	"attestry/evidence"
)

// The patterns of names (docs/semantics.md 1.5).
const (
	namePattern        = `^[a-zA-Z0-9][a-zA-Z0-9\-_.~]*$`
	attestationPattern = `^[a-zA-Z0-9\-_,]+$`
	fingerprintPattern = `^[a-f0-9]{64}$`
)

var (
	invalidInName = regexp.MustCompile(`[^a-zA-Z0-9\-_.~]`)
	patterns      = map[string]*regexp.Regexp{
		namePattern: regexp.MustCompile(namePattern), attestationPattern: regexp.MustCompile(attestationPattern),
		fingerprintPattern: regexp.MustCompile(fingerprintPattern),
	}
)

// nameFrom makes the name of a flow or trail of a text: characters that no name has become
// '-', and a name begins with a letter or digit.
func nameFrom(text string) string {
	return strings.TrimLeft(invalidInName.ReplaceAllLiteralString(text, "-"), "-_.~")
}

// checkName finds a text that does not match a pattern or is too long for a name.
func checkName(found validation.Findings, at, pattern, text string) {
	switch {
	case !patterns[pattern].MatchString(text):
		found.Add(at, "String should match pattern '"+pattern+"'", text)
	case utf8.RuneCountInString(text) > evidence.MaxResourceName:
		found.Add(at, validation.TooLongText(evidence.MaxResourceName), text)
	}
}
