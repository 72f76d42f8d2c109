package attestation

import (
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"attestry/evidence/pattern"
)

const (
	// maxWork bounds how often subschemas are applied to values, for one payload. Subschemas that refer to each other can
	// multiply the number without bound. It is counted, not timed, so that equal payloads get equal results. The largest
	// payload has half a million values.
	maxWork = 5_000_000
	// matchSteps is how many steps of a regular expression count as one: each instruction at each byte is a step.
	matchSteps = 200
	// maxPatterns bounds the regular expressions of a schema together, in bytes of memory.
	maxPatterns = 16 << 20
)

// ErrTooMuchWork is the error for a payload or a schema that takes more work than the limit.
var ErrTooMuchWork = errors.New("comparing the payload with the schema takes too much work")

// work is the budget for one payload: the limit and what is left of it.
type work struct{ most, left int }

// do spends work. At the limit it panics with ErrTooMuchWork, because the library cannot be stopped in another way.
func (w *work) do(n int) {
	if w.left -= n; w.left < 0 {
		panic(ErrTooMuchWork)
	}
}

// countedFormat is the format of a part of a schema. It also counts the work of applying the part.
func (w *work) countedFormat(part *jsonschema.Schema) *jsonschema.Format {
	format := part.Format
	if format == nil {
		format = &jsonschema.Format{Validate: func(any) error { return nil }}
	}
	same, each := costOf(appliedToSame(part)...), costOf(appliedToEach(part)...)
	return &jsonschema.Format{Name: format.Name, Validate: func(value any) error {
		w.do(1 + same)
		switch value := value.(type) {
		case map[string]any:
			w.do(len(part.Required) + len(value)*(1+each+len(part.PatternProperties)))
			for name := range value {
				w.do(costOf(part.Properties[name]))
			}
		case []any:
			w.do(len(value) * (1 + each))
			w.do(costOf(itemsOf(part)...))
		}
		return format.Validate(value)
	}}
}

// costOf is an upper bound of the work to begin to apply parts; absent ones are nil.
func costOf(parts ...*jsonschema.Schema) int {
	cost := 0
	for _, part := range parts {
		if part == nil {
			continue
		}
		cost++
		if part.Enum != nil {
			cost += len(part.Enum.Values)
		}
	}
	return cost
}

// countedPattern is a regular expression whose matches are counted.
type countedPattern struct {
	*pattern.Pattern
	source string // as the schema has it
	work   *work
}

func (p countedPattern) String() string { return p.source }

func (p countedPattern) MatchString(text string) bool {
	p.work.do(1 + p.Instructions*len(text)/matchSteps)
	return p.Pattern.MatchString(text)
}
