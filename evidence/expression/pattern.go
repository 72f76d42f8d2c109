package expression

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

const (
	// maxPattern is the longest regular expression that is accepted, in bytes.
	maxPattern = 1000
	// maxInstructions bounds what repetitions such as {1000} make of a pattern, each
	// of which takes memory and, for every character that is matched, time.
	maxInstructions = 2000
)

// pattern reads a regular expression in quotes.
func (p *parser) pattern() (*regexp.Regexp, error) {
	quoted := p.next()
	if quoted.kind != stringToken {
		return nil, p.unexpected("a regular expression in quotes")
	}
	p.take()
	pattern, err := compilePattern(quoted.text)
	if err != nil {
		return nil, &Error{Column: quoted.column, Reason: "the regular expression is not valid: " + strings.TrimPrefix(err.Error(), "error parsing regexp: ")}
	}
	return pattern, nil
}

// compilePattern anchors a regular expression at the beginning of a string, not at its end
// (docs/semantics.md 18.2).
func compilePattern(text string) (*regexp.Regexp, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("it is longer than %d bytes", maxPattern)
	}
	// It has to be valid by itself: "a)(b" is valid in parentheses only.
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if len(program.Inst) > maxInstructions {
		return nil, fmt.Errorf("its repetitions are too large")
	}
	return regexp.Compile(`\A(?:` + text + `)`)
}
