// Package expression has the conditions of policies (docs/semantics.md 18.2) and identity providers (2.5).
package expression

import (
	"fmt"

	"attestry/evidence/pattern"
)

const (
	// MaxLength is the longest expression that is accepted, in bytes.
	MaxLength = 10_000
	// maxDepth bounds nested parentheses, lists and negations.
	maxDepth = 100
)

// Expression is a parsed and checked condition. Several goroutines may evaluate it at once.
type Expression struct {
	// Text is the expression as it was written, without ${{ and }}.
	Text string
	root node
}

// Subject is what an expression is evaluated for: an artifact and one of its flows.
type Subject struct {
	// Flow is nil for an artifact that no flow knows.
	Flow        *Flow
	Name        string // of the artifact
	Fingerprint string
}

// Flow is what expressions read of a flow.
type Flow struct {
	Name string
	Tags map[string]string
}

// Error says what is wrong with an expression.
type Error struct {
	// Column is the position in the expression, in characters from 1.
	Column int
	Reason string
}

// Error returns the position and the reason.
func (e *Error) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.Reason) }

// Parse reads an expression without ${{ and }}. Its error is an *Error. An expression whose
// result cannot be a boolean is refused, as are comparisons that can never be evaluated.
// Its patterns are compiled in a set of NewPatterns, which expressions that are kept together share.
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

// Evaluate reports whether the condition holds. It is an error to compare a number with other text.
func (e *Expression) Evaluate(subject *Subject) (bool, error) {
	result, err := e.root.evaluate(scope{subject: subject})
	return result.boolean, err
}
