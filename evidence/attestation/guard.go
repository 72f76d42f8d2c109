package attestation

import (
	"encoding/json"
	"errors"
	"math/big"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/itchyny/gojq"
)

const (
	// maxIndex bounds the places that are written to: jq fills an array up to them.
	maxIndex = 1 << 20
	// maxFormat bounds the formats of times; one directive may ask for 1 KiB.
	maxFormat = 256
	// maxPattern bounds regular expressions, in bytes.
	maxPattern = 4096
)

var (
	errIndex   = errors.New("the index is too large")
	errKey     = errors.New("cannot index with an array")
	errPattern = errors.New("the regular expression is too long")
)

// guards are the functions that prelude.jq measures with. Each returns its input
// as it is, so that they may stand in paths. They charge the run under way.
func guards(r *rule) []gojq.CompilerOption {
	guard := func(name string, arity int, check func(m *meter, input any, args []any) error) gojq.CompilerOption {
		return gojq.WithFunction("_attestry_"+name, arity, arity, func(input any, args []any) any {
			if err := check(r.meter, input, args); err != nil {
				return err
			}
			return input
		})
	}
	return []gojq.CompilerOption{
		guard("ok", 0, checkInput),
		guard("ok", 1, func(m *meter, input any, args []any) error {
			return errors.Join(checkInput(m, input, nil), checkInput(m, args[0], nil))
		}),
		guard("ok", 2, func(m *meter, _ any, args []any) error {
			return errors.Join(checkInput(m, args[0], nil), checkInput(m, args[1], nil))
		}),
		guard("pairs", 2, checkPairs),
		guard("times", 2, checkTimes),
		guard("join", 1, checkJoin),
		guard("table", 0, checkTable),
		guard("iter", 0, checkIter),
		guard("slice", 0, checkSlice),
		guard("key", 0, checkKey),
		guard("path", 1, func(m *meter, _ any, args []any) error { return checkPath(m, args[0]) }),
		guard("event", 0, checkEvent),
		guard("digits", 0, checkDigits),
		guard("format", 1, checkFormat),
		guard("regex", 2, r.checkRegex),
	}
}

func checkInput(m *meter, input any, _ []any) error {
	_, _, err := m.measure(input)
	return err
}

// checkPairs is for what looks at each value of one side for each of the other.
func checkPairs(m *meter, _ any, args []any) error {
	var sizes [2]int64
	for i, side := range args {
		values, text, err := m.measure(side)
		if err != nil {
			return err
		}
		sizes[i] = values
		if _, ok := side.(string); ok {
			sizes[i] = text
		}
	}
	if !m.spend(sizes[0] * sizes[1] / 4) {
		return errWorkDone
	}
	return nil
}

// checkTimes is for products, which repeat text.
func checkTimes(m *meter, _ any, args []any) error {
	for i, side := range args {
		if err := checkInput(m, side, nil); err != nil {
			return err
		}
		text, isText := side.(string)
		times, isNumber := gojq.ToFloat64(args[1-i])
		if isText && isNumber && float64(len(text))*times > maxText {
			return errTooLarge
		}
	}
	return nil
}

// checkJoin is for joining: the separator comes as often as there are values.
func checkJoin(m *meter, input any, args []any) error {
	values, text, err := m.measure(input)
	if err != nil {
		return err
	}
	_, separator, err := m.measure(args[0])
	if err == nil && text+values*separator > maxText {
		err = errTooLarge
	}
	return err
}

// checkTable is for transposing, which fills rows up to the longest.
func checkTable(m *meter, input any, _ []any) error {
	rows, ok := input.([]any)
	if !ok {
		return nil
	}
	longest := 0
	for _, row := range rows {
		if cells, ok := row.([]any); ok {
			longest = max(longest, len(cells))
		}
	}
	cells := int64(len(rows)) * int64(longest)
	switch {
	case cells > maxValues:
		return errTooLarge
	case !m.spend(cells + int64(len(rows))):
		return errWorkDone
	}
	return nil
}

// checkIter is for what goes through the members of a value.
func checkIter(m *meter, input any, _ []any) error {
	size := 0
	switch input := input.(type) {
	case []any:
		size = len(input)
	case map[string]any:
		size = len(input)
	}
	if !m.spend(int64(size)) {
		return errWorkDone
	}
	return nil
}

// checkSlice is for what goes through the characters of text.
func checkSlice(m *meter, input any, _ []any) error {
	if text, ok := input.(string); ok && !m.spend(int64(len(text))/8) {
		return errWorkDone
	}
	return nil
}

// checkKey is for what indexes: by an array, that would be a search.
func checkKey(_ *meter, input any, _ []any) error {
	if _, ok := input.([]any); ok {
		return errKey
	}
	return nil
}

// checkPath is for places that are read or written.
func checkPath(m *meter, path any) error {
	steps, ok := path.([]any)
	if !ok {
		return nil
	}
	if !m.spend(int64(len(steps))) {
		return errWorkDone
	}
	for _, step := range steps {
		switch step := step.(type) {
		case []any:
			return errKey
		case int, float64, *big.Int, json.Number:
			if n, _ := gojq.ToInt(step); n > maxIndex {
				return errIndex
			}
		}
	}
	return nil
}

// checkEvent is for the events of a stream, which begin with a path. Each has what
// those before it made copied.
func checkEvent(m *meter, input any, _ []any) error {
	m.events++
	if !m.spend(m.events) {
		return errWorkDone
	}
	event, ok := input.([]any)
	if !ok || len(event) == 0 {
		return nil
	}
	return checkPath(m, event[0])
}

// checkDigits is for text that is read as a number.
func checkDigits(_ *meter, input any, _ []any) error {
	if text, ok := input.(string); ok && len(text) > maxDigits {
		return errBadNumber
	}
	return nil
}

func checkFormat(_ *meter, _ any, args []any) error {
	if text, ok := args[0].(string); ok && len(text) > maxFormat {
		return errTooLarge
	}
	return nil
}

// checkRegex is for matching args[0], a pattern or a list of one and flags, with
// the flags args[1]: a match looks at each state for each character, and jq counts
// characters from the beginning for each that it finds.
func (r *rule) checkRegex(m *meter, input any, args []any) error {
	text, ok := input.(string)
	if !ok {
		return nil
	}
	pattern, flags := args[0], args[1]
	if list, ok := pattern.([]any); ok && len(list) > 0 {
		pattern = list[0]
		if len(list) > 1 && flags == nil {
			flags = list[1]
		}
	}
	source, ok := pattern.(string)
	if !ok {
		return nil
	}
	if !m.spend(int64(len(source))) {
		return errWorkDone
	}
	states, err := patternStates(source)
	if err != nil {
		return err
	}
	r.remember(source, states)
	size := int64(len(text))
	if !m.spend((size+1)*states/16 + states + size/16) {
		return errWorkDone
	}
	letters, _ := flags.(string)
	if !strings.Contains(letters, "g") || size < 1024 {
		return nil
	}
	return chargeMatches(m, source, letters, text)
}

func chargeMatches(m *meter, source, flags, text string) error {
	if strings.Contains(flags, "i") {
		source = "(?i)" + source
	}
	compiled, err := regexp.Compile(source)
	if err != nil {
		return nil // jq says what is wrong with it
	}
	matches := int64(len(compiled.FindAllStringIndex(text, -1)))
	if !m.spend(matches * int64(len(text)) / 8) {
		return errWorkDone
	}
	return nil
}

// patternStates is how large a regular expression is once it is compiled; 0 for
// one that is not valid.
func patternStates(source string) (int64, error) {
	if len(source) > maxPattern {
		return 0, errPattern
	}
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return 0, nil
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, nil
	}
	return int64(len(program.Inst)), nil
}
