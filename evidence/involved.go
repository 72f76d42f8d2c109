package evidence

import (
	"iter"
	"strings"
)

// The parts that somebody can have in an attestation: the first words of the lines of Involved. A line of PartUnknown says
// what cannot be told.
const (
	PartWrote    = "wrote"
	PartApproved = "approved"
	PartDecided  = "decided"
	PartUnknown  = "unknown"
)

// Parts are who had which part in the attestation, in the order of parts and names.
func (e *Entry) Parts() iter.Seq2[string, string] {
	return func(yield func(part, name string) bool) {
		for line := range strings.Lines(e.Involved) {
			if part, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); !yield(part, name) {
				return
			}
		}
	}
}
