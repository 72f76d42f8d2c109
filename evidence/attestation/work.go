package attestation

import (
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"attestry/evidence/pattern"
)

const (
	// maxWork bounds how often parts of a schema are applied to values, for one payload. Parts that refer to each
	// other can multiply that without bound. It is counted, not timed, so that equal payloads get equal answers. The
	// largest payload has half a million values.
	maxWork = 5_000_000
	// matchSteps is how many steps of a regular expression, by character and instruction, count as one part.
	matchSteps = 200
	// maxPatterns bounds what the regular expressions of a schema take up together, in bytes.
	maxPatterns = 16 << 20
)

// ErrTooMuchWork is for a payload, or a schema, that takes more work than is allowed.
var ErrTooMuchWork = errors.New("comparing the payload with the schema takes too much work")

// work counts what is done for one payload, which may be most.
type work struct{ most, left int }

// do counts, and panics with ErrTooMuchWork at the limit: the library has no other way out.
func (w *work) do(n int) {
	if w.left -= n; w.left < 0 {
		panic(ErrTooMuchWork)
	}
}

// countedFormat is the format of a part of a schema, which also counts what is done to apply the part.
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

// costOf is what it costs at most to begin to apply parts; nil ones are absent.
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
	work *work
}

func (p countedPattern) MatchString(text string) bool {
	p.work.do(1 + p.Instructions*len(text)/matchSteps)
	return p.Pattern.MatchString(text)
}
