package expression

type node struct {
	column   int // where it begins, in characters from 1
	kind     valueType
	evaluate evaluation
	// asList evaluates a context as a list, for exists() and the right side of 'in'; nil if it cannot be a list.
	asList evaluation
	// constant is true if evaluate needs no scope.
	constant bool
	// conjuncts are the operands of an 'and'.
	conjuncts []operand
}

// operand is an operand of 'and' or 'or', in the columns from begin to before end, with its parentheses.
type operand struct {
	node
	begin, end int
}

type evaluation func(scope) (value, error)

// scope is the input of an evaluation: the subject of policies, or claims.
type scope struct {
	subject *Subject
	claims  Claims
	steps   *int // of matches() so far
}

func constant(column int, v value) node {
	return node{column: column, kind: v.kind, constant: true, evaluate: func(scope) (value, error) { return v, nil }}
}

func boolean(column int, holds func(scope) (bool, error)) node {
	return node{column: column, kind: booleanType, evaluate: func(in scope) (value, error) {
		result, err := holds(in)
		return booleanValue(result), err
	}}
}

// context reads a value of the scope. The value may be null instead of the kind.
func context(kind valueType, read func(scope) value) node {
	return node{kind: kind, evaluate: func(in scope) (value, error) { return read(in), nil }}
}

// preferList is the node as a list, if it can be one.
func (n node) preferList() node {
	if n.asList != nil {
		n.kind, n.evaluate = listType, n.asList
	}
	return n
}

// listOf is a list of items.
func listOf(column int, items []node) node {
	return node{column: column, kind: listType, evaluate: func(in scope) (value, error) {
		list := value{kind: listType, items: make([]value, len(items))}
		for i, item := range items {
			var err error
			if list.items[i], err = item.evaluate(in); err != nil {
				return value{}, err
			}
		}
		return list, nil
	}}
}

func not(column int, operand node) node {
	return boolean(column, func(in scope) (bool, error) {
		result, err := operand.evaluate(in)
		return !result.boolean, err
	})
}

// logical is "and" or "or". It evaluates operands from the left until one is decisive: false for and, true for or.
func logical(operands []operand, decisive bool) node {
	return boolean(operands[0].column, func(in scope) (bool, error) {
		for _, operand := range operands {
			evaluated, err := operand.evaluate(in)
			if err != nil || evaluated.boolean == decisive {
				return evaluated.boolean, err
			}
		}
		return !decisive, nil
	})
}

func comparison(operator string, left, right node) node {
	return boolean(left.column, func(in scope) (bool, error) {
		first, err := left.evaluate(in)
		if err != nil {
			return false, err
		}
		second, err := right.evaluate(in)
		if err != nil {
			return false, err
		}
		return compare(operator, first, second)
	})
}

// compare compares two values. With null, only == and != can be true.
func compare(operator string, left, right value) (bool, error) {
	switch operator {
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
	switch operator {
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
