package expression

import "attestry/evidence/pattern"

type node interface {
	// column is where it begins, in characters from 1.
	column() int
	valueType() valueType
	evaluate(scope) (value, error)
}

// scope is what an expression is evaluated for: a subject of policies, or claims.
type scope struct {
	subject *Subject
	claims  Claims
}

// position is the column of a node.
type position int

func (p position) column() int { return int(p) }

type literal struct {
	position
	value value
}

func (l literal) valueType() valueType { return l.value.kind }

func (l literal) evaluate(scope) (value, error) { return l.value, nil }

// list has items that are evaluated anew each time.
type list struct {
	position
	items []node
}

func (l list) valueType() valueType { return listType }

func (l list) evaluate(in scope) (value, error) {
	items := make([]value, 0, len(l.items))
	for _, item := range l.items {
		evaluated, err := item.evaluate(in)
		if err != nil {
			return value{}, err
		}
		items = append(items, evaluated)
	}
	return value{kind: listType, items: items}, nil
}

// exists is true for what is not null.
type exists struct {
	position
	argument node
}

func (e exists) valueType() valueType { return booleanType }

func (e exists) evaluate(in scope) (value, error) {
	argument, err := e.argument.evaluate(in)
	return booleanValue(argument.kind != nullType), err
}

// matches is true if the beginning of a string matches a pattern; false for null.
type matches struct {
	position
	argument node
	pattern  *pattern.Pattern
}

func (m matches) valueType() valueType { return booleanType }

func (m matches) evaluate(in scope) (value, error) {
	argument, err := m.argument.evaluate(in)
	return booleanValue(argument.kind == stringType && m.pattern.MatchString(argument.text)), err
}

// not negates a boolean.
type not struct {
	position
	operand node
}

func (n not) valueType() valueType { return booleanType }

func (n not) evaluate(in scope) (value, error) {
	operand, err := n.operand.evaluate(in)
	return booleanValue(!operand.boolean), err
}

// logical is "and" or "or". It evaluates operands from the left until one decides.
type logical struct {
	position
	operands []node
	// decisive is the value of an operand that decides: false for and, true for or.
	decisive bool
}

func (l logical) valueType() valueType { return booleanType }

func (l logical) evaluate(in scope) (value, error) {
	for _, operand := range l.operands {
		evaluated, err := operand.evaluate(in)
		if err != nil || evaluated.boolean == l.decisive {
			return evaluated, err
		}
	}
	return booleanValue(!l.decisive), nil
}

// comparison compares two values. With null, only == and != can be true.
type comparison struct {
	position
	operator    string
	left, right node
}

func (c comparison) valueType() valueType { return booleanType }

func (c comparison) evaluate(in scope) (value, error) {
	left, err := c.left.evaluate(in)
	if err != nil {
		return value{}, err
	}
	right, err := c.right.evaluate(in)
	if err != nil {
		return value{}, err
	}
	holds, err := c.compare(left, right)
	return booleanValue(holds), err
}

func (c comparison) compare(left, right value) (bool, error) {
	switch c.operator {
	case "==":
		return equalValues(left, right)
	case "!=":
		equal, err := equalValues(left, right)
		return !equal, err
	case "in":
		return contains(right.items, left)
	}
	if left.kind == nullType || right.kind == nullType {
		return false, nil
	}
	order, err := compareValues(left, right)
	switch c.operator {
	case "<":
		return order < 0, err
	case ">":
		return order > 0, err
	case "<=":
		return order <= 0, err
	default:
		return order >= 0, err
	}
}

// contains is false for null, even in a list that has null.
func contains(items []value, sought value) (bool, error) {
	if sought.kind == nullType {
		return false, nil
	}
	for _, item := range items {
		if equal, err := equalValues(item, sought); equal || err != nil {
			return equal, err
		}
	}
	return false, nil
}
