package storage

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"attestry/evidence"
)

// Filter reports whether the fields of an entry meet all conditions of a query. All engines use it, so that they
// cannot differ.
type Filter func(fields map[string]any) bool

// NewFilter compiles conditions. A malformed pattern is the client's mistake.
func NewFilter(conditions []Condition) (Filter, error) {
	tests := make([]Filter, 0, len(conditions))
	for _, condition := range conditions {
		test, err := newTest(condition)
		if err != nil {
			return nil, err
		}
		tests = append(tests, func(fields map[string]any) bool { return test(fields[condition.Field]) })
	}
	return func(fields map[string]any) bool {
		for _, test := range tests {
			if !test(fields) {
				return false
			}
		}
		return true
	}, nil
}

func newTest(condition Condition) (func(any) bool, error) {
	switch condition.Operator {
	case Equals:
		return equals(condition)
	case OneOf:
		return oneOf(condition)
	case AtLeast, AtMost:
		return bounds(condition)
	case Contains, ContainsFold, Matches:
		text, ok := condition.Value.(string)
		if !ok {
			return nil, fmt.Errorf("condition on %s: text is wanted, not a %T", condition.Field, condition.Value)
		}
		return textTest(condition.Operator, text)
	}
	return nil, fmt.Errorf("condition on %s: unknown operator %d", condition.Field, condition.Operator)
}

func equals(condition Condition) (func(any) bool, error) {
	if err := CheckValue(condition.Value); err != nil {
		return nil, fmt.Errorf("condition on %s: %w", condition.Field, err)
	}
	return func(value any) bool { return CompareValues(value, condition.Value) == 0 }, nil
}

func bounds(condition Condition) (func(any) bool, error) {
	if err := CheckValue(condition.Value); err != nil {
		return nil, fmt.Errorf("condition on %s: %w", condition.Field, err)
	}
	if condition.Operator == AtLeast {
		return func(value any) bool { return value != nil && CompareValues(value, condition.Value) >= 0 }, nil
	}
	return func(value any) bool { return value != nil && CompareValues(value, condition.Value) <= 0 }, nil
}

func oneOf(condition Condition) (func(any) bool, error) {
	set, ok := condition.Value.(In)
	if !ok {
		return nil, fmt.Errorf("condition on %s: a set is wanted, not a %T", condition.Field, condition.Value)
	}
	if err := checkOperand(set); err != nil {
		return nil, fmt.Errorf("condition on %s: %w", condition.Field, err)
	}
	sorted := slices.SortedFunc(slices.Values(set), CompareValues)
	return func(value any) bool {
		_, found := slices.BinarySearchFunc(sorted, value, CompareValues)
		return found
	}, nil
}

func textTest(operator Operator, text string) (func(any) bool, error) {
	var test func(string) bool
	switch operator {
	case Contains:
		test = func(value string) bool { return strings.Contains(value, text) }
	case ContainsFold:
		lower := strings.ToLower(text)
		test = func(value string) bool { return strings.Contains(strings.ToLower(value), lower) }
	default:
		pattern, err := regexp.Compile(text)
		if err != nil {
			return nil, evidence.NewError(evidence.Invalid, "Invalid regular expression: "+err.Error())
		}
		test = pattern.MatchString
	}
	return func(value any) bool {
		s, ok := value.(string)
		return ok && test(s)
	}, nil
}
