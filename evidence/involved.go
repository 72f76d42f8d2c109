package evidence

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The parts of people in an attestation: the first words of the lines of Involved. PartUnknown says what is not known.
const (
	PartWrote    = "wrote"
	PartApproved = "approved"
	PartDecided  = "decided"
	PartUnknown  = "unknown"
)

// Parts yields the parts and names of the people in Involved, in order.
func (e *Entry) Parts() iter.Seq2[string, string] {
	return func(yield func(part, name string) bool) {
		for line := range strings.Lines(e.Involved) {
			if part, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); !yield(part, name) {
				return
			}
		}
	}
}

// InOneCase is equal for names that are equal by strings.EqualFold.
func InOneCase(name string) string {
	return strings.Map(func(letter rune) rune {
		if letter < utf8.RuneSelf {
			return unicode.ToUpper(letter)
		}
		first := letter
		for other := unicode.SimpleFold(letter); other != letter; other = unicode.SimpleFold(other) {
			first = min(first, other)
		}
		return first
	}, name)
}
