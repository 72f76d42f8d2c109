package expression

import "regexp"

// node is a part of an expression.
type node interface {
	// column is where it begins, in characters from 1.
	column() int
	valueType() valueType
	evaluate(*Subject) (value, error)
}

// position is the column of a node.
type position int

func (p position) column() int { return int(p) }

// literal is a constant.
type literal struct {
	position
	value value
}

func (l literal) valueType() valueType { return l.value.kind }

func (l literal) evaluate(*Subject) (value, error) { return l.value, nil }

// list has items that are evaluated anew for each subject.
type list struct {
	position
	items []node
}

func (l list) valueType() valueType { return listType }

func (l list) evaluate(subject *Subject) (value, error) {
	items := make([]value, 0, len(l.items))
	for _, item := range l.items {
		evaluated, err := item.evaluate(subject)
		if err != nil {
			return value{}, err
		}
		items = append(items, evaluated)
	}
	return value{kind: listType, items: items}, nil
}

// context reads a value of the subject.
type context struct {
	position
	kind valueType
	read func(*Subject) value
}

func (c context) valueType() valueType { return c.kind }

func (c context) evaluate(subject *Subject) (value, error) { return c.read(subject), nil }

// exists is true for what is not null.
type exists struct {
	position
	argument node
}

func (e exists) valueType() valueType { return booleanType }

func (e exists) evaluate(subject *Subject) (value, error) {
	argument, err := e.argument.evaluate(subject)
	return booleanValue(argument.kind != nullType), err
}

// matches is true if the beginning of a string matches a pattern; false for null.
type matches struct {
	position
	argument node
	pattern  *regexp.Regexp
}

func (m matches) valueType() valueType { return booleanType }

func (m matches) evaluate(subject *Subject) (value, error) {
	argument, err := m.argument.evaluate(subject)
	return booleanValue(argument.kind == stringType && m.pattern.MatchString(argument.text)), err
}

// not negates a boolean.
type not struct {
	position
	operand node
}

func (n not) valueType() valueType { return booleanType }

func (n not) evaluate(subject *Subject) (value, error) {
	operand, err := n.operand.evaluate(subject)
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

func (l logical) evaluate(subject *Subject) (value, error) {
	for _, operand := range l.operands {
		evaluated, err := operand.evaluate(subject)
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

func (c comparison) evaluate(subject *Subject) (value, error) {
	left, err := c.left.evaluate(subject)
	if err != nil {
		return value{}, err
	}
	right, err := c.right.evaluate(subject)
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
