package expression

import "fmt"

func requireType(n node, wanted valueType, what string) error {
	if got := n.valueType(); got != wanted {
		return &Error{Column: n.column(), Reason: fmt.Sprintf("%s must be %s, not %s", what, wanted, got)}
	}
	return nil
}

// checkComparison refuses what cannot be compared whatever the subject is.
func checkComparison(c comparison) error {
	left, right := c.left.valueType(), c.right.valueType()
	if left == flowType || left == listType {
		return &Error{Column: c.left.column(), Reason: fmt.Sprintf("%s cannot be compared with '%s'", left, c.operator)}
	}
	if c.operator == "in" {
		return requireType(c.right, listType, "the right side of 'in'")
	}
	ordered := c.operator != "==" && c.operator != "!="
	switch {
	case right == flowType || right == listType || ordered && right == booleanType:
		return &Error{Column: c.right.column(), Reason: fmt.Sprintf("%s cannot be compared with '%s'", right, c.operator)}
	case (left == booleanType) != (right == booleanType):
		return &Error{Column: c.left.column(), Reason: fmt.Sprintf("%s cannot be compared with %s", left, right)}
	case ordered && left == booleanType:
		return &Error{Column: c.left.column(), Reason: fmt.Sprintf("%s cannot be compared with '%s'", left, c.operator)}
	}
	return checkLiterals(c)
}

// checkLiterals refuses a constant that is compared with a number and is none.
func checkLiterals(c comparison) error {
	for _, side := range []struct{ constant, other node }{{c.left, c.right}, {c.right, c.left}} {
		constant, ok := side.constant.(literal)
		if !ok || constant.value.kind != stringType || side.other.valueType() != numberType {
			continue
		}
		if _, err := toNumber(constant.value); err != nil {
			return &Error{Column: constant.column(), Reason: err.Error()}
		}
	}
	return nil
}
