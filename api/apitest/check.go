package apitest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"attestry/evidence/evidencetest"
)

// Equal fails the test unless two values are equal. about says what the values are.
func Equal[V comparable](t *testing.T, got, want V, about ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%sgot %v, want %v", prefix(about), show(got), show(want))
	}
}

// EqualList fails the test unless two lists have equal elements. about says what the lists are.
func EqualList[V comparable](t *testing.T, got, want []V, about ...any) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%sgot %v, want %v", prefix(about), show(got), show(want))
	}
}

func prefix(about []any) string {
	if len(about) == 0 {
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintln(about...), "\n") + ": "
}

// show quotes texts, also those in lists and behind pointers.
func show(value any) any {
	switch value := value.(type) {
	case string:
		return strconv.Quote(value)
	case []string:
		return fmt.Sprintf("%q", value)
	case *string:
		if value != nil {
			return strconv.Quote(*value)
		}
	}
	return value
}

// WantAnswer checks the status of an answer, and that its body has all parts.
func WantAnswer(t *testing.T, got Answer, status int, parts ...string) {
	t.Helper()
	if got.Status != status {
		t.Errorf("status %d, want %d: %.2000s", got.Status, status, got.Body)
	}
	evidencetest.Contains(t, string(got.Body), parts...)
}

// WantFault checks that an answer refuses the value at a location, with a text if one is given.
func WantFault(t *testing.T, got Answer, location string, text ...string) {
	t.Helper()
	message, faults := got.Problem(t)
	if fault := faults[location]; message != "Input payload validation failed" || fault == "" || text != nil && fault != text[0] {
		t.Errorf("%q %q, want %s: %q", message, faults, location, text)
	}
}

// WantMember fails the test unless a decoded value has a member with a value. The path has the names of members and the
// indexes of items, separated by points.
func WantMember(t *testing.T, value any, path string, want any) {
	t.Helper()
	var steps []any
	for step := range strings.SplitSeq(path, ".") {
		if index, err := strconv.Atoi(step); err == nil {
			steps = append(steps, index)
		} else {
			steps = append(steps, step)
		}
	}
	if got := Lookup(t, value, steps...); got != want {
		t.Errorf("%s is %v, want %v, in %s", path, show(got), show(want), AsJSON(value))
	}
}

// WantMembers is WantMember for several paths.
func WantMembers(t *testing.T, value any, want map[string]any) {
	t.Helper()
	for path, one := range want {
		WantMember(t, value, path, one)
	}
}

// Each runs a subtest for each case, with the service of the test.
func Each[C any](s *Service, cases map[string]C, check func(s *Service, name string, c C)) {
	s.T.Helper()
	for name, c := range cases {
		s.T.Run(s.CaseName(name), func(t *testing.T) { check(s.In(t), name, c) })
	}
}

// EachOf is Each for cases that only have names.
func EachOf(s *Service, names []string, check func(s *Service, name string)) {
	s.T.Helper()
	for _, name := range names {
		s.T.Run(s.CaseName(name), func(t *testing.T) { check(s.In(t), name) })
	}
}
