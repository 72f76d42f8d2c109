package expression

import (
	"fmt"
	"slices"

	"attestry/evidence/pattern"
)

// parser reads an expression by recursive descent, one function per level of precedence.
type parser struct {
	tokens   []token
	contexts contexts
	patterns *pattern.Set
	at       int
	depth    int
}

func (p *parser) next() token { return p.tokens[p.at] }

// take consumes the next token and returns it.
func (p *parser) take() token {
	taken := p.tokens[p.at]
	if taken.kind != endToken {
		p.at++
	}
	return taken
}

// accept consumes the next token if it is the given keyword or operator.
func (p *parser) accept(text string) bool {
	next := p.next()
	if next.text != text || next.kind != nameToken && next.kind != operatorToken {
		return false
	}
	p.take()
	return true
}

func (p *parser) expect(text string) error {
	if !p.accept(text) {
		return p.unexpected("'" + text + "'")
	}
	return nil
}

func (p *parser) unexpected(expected string) error {
	return &Error{Column: p.next().column, Reason: fmt.Sprintf("expected %s, found %s", expected, p.next())}
}

// enter enters a level of nesting, which the returned function leaves.
func (p *parser) enter() (leave func(), err error) {
	if p.depth++; p.depth > maxDepth {
		return nil, &Error{Column: p.next().column, Reason: fmt.Sprintf("the expression is nested deeper than %d levels", maxDepth)}
	}
	return func() { p.depth-- }, nil
}

func (p *parser) or() (node, error) {
	leave, err := p.enter()
	if err != nil {
		return node{}, err
	}
	defer leave()
	return p.logical("or", true, p.and)
}

func (p *parser) and() (node, error) { return p.logical("and", false, p.not) }

func (p *parser) logical(keyword string, decisive bool, next func() (node, error)) (node, error) {
	var operands []operand
	for len(operands) == 0 || p.accept(keyword) {
		begin := p.next().column
		another, err := next()
		if err != nil {
			return node{}, err
		}
		operands = append(operands, operand{another, begin, p.next().column})
	}
	if len(operands) == 1 {
		return operands[0].node, nil
	}
	for _, one := range operands {
		if err := requireType(one.node, booleanType, "each side of '"+keyword+"'"); err != nil {
			return node{}, err
		}
	}
	made := logical(operands, decisive)
	if !decisive {
		made.conjuncts = operands
	}
	return made, nil
}

func (p *parser) not() (node, error) {
	column := p.next().column
	if !p.accept("not") {
		return p.comparison()
	}
	leave, err := p.enter()
	if err != nil {
		return node{}, err
	}
	defer leave()
	operand, err := p.not()
	if err != nil {
		return node{}, err
	}
	return not(column, operand), requireType(operand, booleanType, "the operand of 'not'")
}

var comparisons = []string{"==", "!=", "<=", ">=", "<", ">", "in"}

func (p *parser) comparison() (node, error) {
	left, err := p.term()
	if err != nil {
		return node{}, err
	}
	negated := p.accept("not")
	if negated && p.next().text != "in" {
		return node{}, p.unexpected("'in' after 'not'")
	}
	operator := p.next()
	if operator.kind == stringToken || !slices.Contains(comparisons, operator.text) {
		return left, nil
	}
	p.take()
	right, err := p.term()
	if err != nil {
		return node{}, err
	}
	if operator.text == "in" {
		right = right.preferList()
	}
	if err := checkComparison(operator.text, left, right); err != nil {
		return node{}, err
	}
	compared := comparison(operator.text, left, right)
	if negated {
		return not(left.column, compared), nil
	}
	return compared, nil
}

func (p *parser) term() (node, error) {
	next := p.next()
	switch next.kind {
	case stringToken:
		p.take()
		return constant(next.column, stringValue(next.text)), nil
	case numberToken:
		p.take()
		number, ok := parseNumber(next.text)
		if !ok {
			return node{}, &Error{Column: next.column, Reason: next.String() + " is not a number"}
		}
		return constant(next.column, value{kind: numberType, number: number}), nil
	case nameToken:
		return p.named()
	}
	switch {
	case p.accept("("):
		inner, err := p.or()
		if err != nil {
			return node{}, err
		}
		inner.conjuncts = nil
		return inner, p.expect(")")
	case p.accept("["):
		return p.list(next.column)
	}
	return node{}, p.unexpected("a value")
}

// list reads the items of a list. There must be at least one.
func (p *parser) list(column int) (node, error) {
	var items []node
	for {
		item, err := p.or()
		if err != nil {
			return node{}, err
		}
		if item.kind == listType || item.kind == flowType {
			return node{}, item.fault("an item of a list cannot be %s", item.kind)
		}
		items = append(items, item)
		if !p.accept(",") {
			return listOf(column, items), p.expect("]")
		}
	}
}

// named reads a constant, a function or a context.
func (p *parser) named() (node, error) {
	name := p.take()
	switch name.text {
	case "true", "false":
		return constant(name.column, booleanValue(name.text == "true")), nil
	case "exists", "matches":
		return p.call(name)
	}
	found, ok := p.contexts.find(name.text)
	if !ok {
		return node{}, &Error{Column: name.column, Reason: name.String() + " is unknown: there are " + p.contexts.listed +
			", exists(), matches(), true, false, and, or, not, in"}
	}
	found.column = name.column
	return found, nil
}

// call reads a function: exists() is true unless its argument is null, and matches() if the beginning of a string
// matches a pattern; it is false for null.
func (p *parser) call(name token) (node, error) {
	if err := p.expect("("); err != nil {
		return node{}, err
	}
	argument, err := p.or()
	if err != nil {
		return node{}, err
	}
	if name.text == "exists" {
		argument = argument.preferList()
		return boolean(name.column, func(in scope) (bool, error) {
			read, err := argument.evaluate(in)
			return read.kind != nullType, err
		}), p.expect(")")
	}
	if err := requireType(argument, stringType, "the first argument of matches()"); err != nil {
		return node{}, err
	}
	if err := p.expect(","); err != nil {
		return node{}, err
	}
	compiled, err := p.pattern()
	if err != nil {
		return node{}, err
	}
	return boolean(name.column, func(in scope) (bool, error) {
		text, err := argument.evaluate(in)
		if *in.steps += compiled.Instructions * len(text.text); *in.steps > maxSteps {
			return false, &Error{Column: name.column, Reason: "matches() takes too much work for this text"}
		}
		return text.kind == stringType && compiled.MatchString(text.text), err
	}), p.expect(")")
}
