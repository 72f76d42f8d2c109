package expression

import (
	"fmt"
	"regexp/syntax"
	"strings"

	"attestry/evidence/pattern"
)

const (
	// maxPattern is the longest regular expression that is accepted, in bytes.
	maxPattern = 1000
	// maxInstructions bounds what repetitions such as {1000} make of a pattern, each
	// of which takes memory and, for every character that is matched, time.
	maxInstructions = 2001
	// maxClaimPatterns is what the patterns of a condition over claims may take up, in bytes, for each token.
	maxClaimPatterns = 1 << 20
)

// NewPatterns makes a set for the patterns of expressions that take up at most maxBytes together.
func NewPatterns(maxBytes int) *pattern.Set { return pattern.NewSet(maxBytes, maxInstructions) }

// pattern reads a regular expression in quotes. It is anchored at the beginning of a string, not at its end
// (docs/semantics.md 18.2).
func (p *parser) pattern() (compiled *pattern.Pattern, err error) {
	quoted := p.next()
	if quoted.kind != stringToken {
		return nil, p.unexpected("a regular expression in quotes")
	}
	p.take()
	// It has to be valid by itself: "a)(b" is valid in parentheses only.
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
