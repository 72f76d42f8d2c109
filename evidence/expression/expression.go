// Package expression has the conditions of policies (docs/semantics.md 18.2) and identity providers (2.5).
package expression

import (
	"fmt"

	"attestry/evidence/pattern"
)

const (
	// MaxLength bounds an expression, in bytes.
	MaxLength = 10_000
	// maxDepth bounds nested parentheses, lists and negations.
	maxDepth = 100
	// maxSteps bounds the work of matches() for a subject, some tenths of a second. A step is an instruction at a byte. It
	// is counted, not timed, so that equal subjects get equal results.
	maxSteps = 10_000_000
)

// Expression is a parsed and checked condition. It is safe for concurrent use.
type Expression struct {
	// Text is the expression as it was written, without ${{ and }}.
	Text string
	root node
}

// Subject is the subject of an evaluation: an artifact and one of its flows. Evaluate counts the work of all expressions
// in it, so use it for one evaluation at a time.
type Subject struct {
	// Flow is nil for an artifact without provenance.
	Flow        *Flow
	Name        string // of the artifact
	Fingerprint string
	steps       int
}

// Flow has the members of a flow that expressions read.
type Flow struct {
	Name string
	Tags map[string]string
}

// Error is a fault of an expression.
type Error struct {
	// Column is the position in the expression, in characters from 1.
	Column int
	Reason string
}

// Error returns the position and the reason.
func (e *Error) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.Reason) }

// Parse reads an expression without ${{ and }}. Its error is an *Error. It refuses non-boolean expressions and
// comparisons that always fail. The patterns are compiled in a set of NewPatterns, which expressions of a file share.
func Parse(text string, patterns *pattern.Set) (*Expression, error) {
	root, err := parse(text, policyContexts, patterns)
	if err != nil {
		return nil, err
	}
	return &Expression{Text: text, root: root}, nil
}

func parse(text string, contexts contexts, patterns *pattern.Set) (node, error) {
	if len(text) > MaxLength {
		return node{}, &Error{Column: 1, Reason: fmt.Sprintf("the expression is longer than %d bytes", MaxLength)}
	}
	tokens, err := scan(text)
	if err != nil {
		return node{}, err
	}
	p := &parser{tokens: tokens, contexts: contexts, patterns: patterns}
	root, err := p.or()
	if err != nil {
		return node{}, err
	}
	if p.next().kind != endToken {
		return node{}, p.unexpected("an operator or the end of the expression")
	}
	return root, requireType(root, booleanType, "the result")
}

// Evaluate reports whether the condition is true. Comparing a number with a text that is not one is an error, and so is
// too much work for matches().
func (e *Expression) Evaluate(subject *Subject) (bool, error) {
	result, err := e.root.evaluate(scope{subject: subject, steps: &subject.steps})
	return result.boolean, err
}
