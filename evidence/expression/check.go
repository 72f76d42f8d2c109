package expression

import "fmt"

func (n node) fault(format string, args ...any) error {
	return &Error{Column: n.column, Reason: fmt.Sprintf(format, args...)}
}

func requireType(n node, wanted valueType, what string) error {
	if n.kind != wanted {
		return n.fault("%s must be %s, not %s", what, wanted, n.kind)
	}
	return nil
}

// checkComparison refuses comparisons that fail for every subject.
func checkComparison(operator string, left, right node) error {
	if left.kind == flowType || left.kind == listType {
		return left.fault("%s cannot be compared with '%s'", left.kind, operator)
	}
	if operator == "in" {
		return requireType(right, listType, "the right side of 'in'")
	}
	ordered := operator != "==" && operator != "!="
	switch {
	case right.kind == flowType || right.kind == listType || ordered && right.kind == booleanType:
		return right.fault("%s cannot be compared with '%s'", right.kind, operator)
	case (left.kind == booleanType) != (right.kind == booleanType):
		return left.fault("%s cannot be compared with %s", left.kind, right.kind)
	case ordered && left.kind == booleanType:
		return left.fault("%s cannot be compared with '%s'", left.kind, operator)
	}
	if err := checkConstant(left, right); err != nil {
		return err
	}
	return checkConstant(right, left)
}

// checkConstant refuses a string constant that is compared with a number and is not a number.
func checkConstant(n, other node) error {
	if !n.constant || n.kind != stringType || other.kind != numberType {
		return nil
	}
	text, _ := n.evaluate(scope{})
	if _, err := toNumber(text); err != nil {
		return n.fault("%v", err)
	}
	return nil
}
