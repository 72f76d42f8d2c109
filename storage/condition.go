package storage

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"attestry/evidence"
)

// Filter reports whether the fields of an entry meet all conditions of a query. All engines share it.
type Filter func(fields map[string]any) bool

// NewFilter compiles conditions. A malformed pattern is the client's mistake.
func NewFilter(conditions []Condition) (Filter, error) {
	tests := make([]Filter, 0, len(conditions))
	for _, condition := range conditions {
		test, err := newTest(condition.Operator, condition.Value)
		if err != nil {
			return nil, fmt.Errorf("condition on %s: %w", condition.Field, err)
		}
		tests = append(tests, func(fields map[string]any) bool { return test(fields[condition.Field]) })
	}
	return func(fields map[string]any) bool {
		return !slices.ContainsFunc(tests, func(test Filter) bool { return !test(fields) })
	}, nil
}

func newTest(operator Operator, wanted any) (func(any) bool, error) {
	switch operator {
	case Equals:
		return func(value any) bool { return CompareValues(value, wanted) == 0 }, CheckValue(wanted)
	case AtLeast:
		return func(value any) bool { return value != nil && CompareValues(value, wanted) >= 0 }, CheckValue(wanted)
	case AtMost:
		return func(value any) bool { return value != nil && CompareValues(value, wanted) <= 0 }, CheckValue(wanted)
	case OneOf:
		return oneOf(wanted)
	case Contains, ContainsFold, Matches:
		text, ok := wanted.(string)
		if !ok {
			return nil, fmt.Errorf("text is wanted, not a %T", wanted)
		}
		return textTest(operator, text)
	}
	return nil, fmt.Errorf("unknown operator %d", operator)
}

func oneOf(wanted any) (func(any) bool, error) {
	set, ok := wanted.(In)
	if !ok {
		return nil, fmt.Errorf("a set is wanted, not a %T", wanted)
	}
	if err := checkOperand(set); err != nil {
		return nil, err
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
