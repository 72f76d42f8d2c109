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

// pattern reads a regular expression in quotes.
func (p *parser) pattern() (*pattern.Pattern, error) {
	quoted := p.next()
	if quoted.kind != stringToken {
		return nil, p.unexpected("a regular expression in quotes")
	}
	p.take()
	compiled, err := compilePattern(quoted.text, p.patterns)
	if err != nil {
		return nil, &Error{Column: quoted.column, Reason: "the regular expression is not valid: " + strings.TrimPrefix(err.Error(), "error parsing regexp: ")}
	}
	return compiled, nil
}

// compilePattern anchors a regular expression at the beginning of a string, not at its end (docs/semantics.md 18.2).
func compilePattern(text string, patterns *pattern.Set) (*pattern.Pattern, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("it is longer than %d bytes", maxPattern)
	}
	// It has to be valid by itself: "a)(b" is valid in parentheses only.
	if _, err := syntax.Parse(text, syntax.Perl); err != nil {
		return nil, err
	}
	return patterns.Compile(`\A(?:` + text + `)`)
}
