package evidence

import (
	"iter"
	"strings"
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
