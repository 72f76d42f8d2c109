package expression

import (
	"cmp"
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"

	"attestry/evidence/pattern"
)

// valueType is the type of an expression. Values of contexts may also be null.
type valueType int

const (
	nullType valueType = iota
	booleanType
	numberType
	stringType
	listType
	flowType
)

func (t valueType) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "a flow"}[t]
}

// value is the result of an expression, in the member of its kind.
type value struct {
	kind    valueType
	boolean bool
	number  float64
	text    string
	items   []value
}

func booleanValue(b bool) value { return value{kind: booleanType, boolean: b} }

func stringValue(text string) value { return value{kind: stringType, text: text} }

// equalValues compares two values; null equals only null.
func equalValues(a, b value) (bool, error) {
	switch {
	case a.kind == nullType || b.kind == nullType:
		return a.kind == b.kind, nil
	case a.kind == booleanType && b.kind == booleanType:
		return a.boolean == b.boolean, nil
	case a.kind == booleanType || b.kind == booleanType:
		return false, nil
	}
	order, err := compareValues(a, b)
	return order == 0, err
}

// compareValues compares two strings, or two numbers, which may be strings, as tags are.
func compareValues(a, b value) (int, error) {
	if a.kind == stringType && b.kind == stringType {
		return cmp.Compare(a.text, b.text), nil
	}
	first, err := toNumber(a)
	if err != nil {
		return 0, err
	}
	second, err := toNumber(b)
	return cmp.Compare(first, second), err
}

func toNumber(v value) (float64, error) {
	if v.kind == numberType {
		return v.number, nil
	}
	number, ok := parseNumber(v.text)
	if !ok {
		return 0, fmt.Errorf("%.100q is compared with a number and is not one", v.text)
	}
	return number, nil
}

// parseNumber reads a number in decimal notation, such as 3 or -1.5.
func parseNumber(text string) (number float64, ok bool) {
	if strings.Trim(strings.TrimPrefix(text, "-"), "0123456789.") != "" {
		return 0, false
	}
	number, err := strconv.ParseFloat(text, 64)
	return number, err == nil
}

const (
	// maxPattern bounds a regular expression, in bytes.
	maxPattern = 1000
	// maxInstructions bounds the instructions of a pattern, which repetitions such as {1000} multiply. Each takes memory
	// and, for every matched character, time.
	maxInstructions = 2001
	// maxClaimPatterns bounds the memory for patterns of a condition over claims, in bytes, for each token.
	maxClaimPatterns = 1 << 20
)

// NewPatterns makes a set for the patterns of expressions, of at most maxBytes in total.
func NewPatterns(maxBytes int) *pattern.Set { return pattern.NewSet(maxBytes, maxInstructions) }

// pattern reads a regular expression in quotes. It is anchored at the beginning of a string, not at its end
// (docs/semantics.md 18.2).
func (p *parser) pattern() (compiled *pattern.Pattern, err error) {
	quoted := p.next()
	if quoted.kind != stringToken {
		return nil, p.unexpected("a regular expression in quotes")
	}
	p.take()
	// It must be valid without the group: "a)(b" is valid only in parentheses.
	if len(quoted.text) > maxPattern {
		err = fmt.Errorf("it is longer than %d bytes", maxPattern)
	} else if _, err = syntax.Parse(quoted.text, syntax.Perl); err == nil {
		compiled, err = p.patterns.Compile(`\A(?:` + quoted.text + `)`)
	}
	if err != nil {
		return nil, &Error{Column: quoted.column, Reason: "the regular expression is not valid: " + strings.TrimPrefix(err.Error(), "error parsing regexp: ")}
	}
	return compiled, nil
}
