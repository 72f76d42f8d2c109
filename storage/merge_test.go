package storage_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"attestry/storage"
)

// numbers is a source of ascending numbers. Read returns two at a time, and err after the last.
type numbers struct {
	rest []int
	err  error
}

func (n *numbers) Read(_ context.Context, some []int) ([]int, error) {
	if len(n.rest) == 0 {
		return nil, n.err
	}
	size := min(2, len(n.rest))
	some = append(some, n.rest[:size]...)
	n.rest = n.rest[size:]
	return some, nil
}

func less(a, b *int) bool { return *a < *b }

// mergeUpTo merges sources and stops after limit numbers.
func mergeUpTo(t *testing.T, limit int, sources ...*numbers) ([]int, error) {
	t.Helper()
	var merged []int
	err := storage.Merge(t.Context(), sources, less, func(n *int) (bool, error) {
		merged = append(merged, *n)
		return len(merged) < limit, nil
	})
	return merged, err
}

func TestMergeKeepsTheOrderOfItsSources(t *testing.T) {
	for name, test := range map[string]struct {
		sources []*numbers
		limit   int
		want    []int
	}{
		"no sources":      {nil, 9, nil},
		"one":             {[]*numbers{{rest: []int{1, 2}}}, 9, []int{1, 2}},
		"empty ones":      {[]*numbers{{}, {rest: []int{1}}, {}}, 9, []int{1}},
		"several":         {[]*numbers{{rest: []int{3, 6}}, {rest: []int{1, 4, 7}}, {rest: []int{2, 5}}}, 9, []int{1, 2, 3, 4, 5, 6, 7}},
		"equal entries":   {[]*numbers{{rest: []int{1, 2}}, {rest: []int{1, 2}}}, 9, []int{1, 1, 2, 2}},
		"no more wanted":  {[]*numbers{{rest: []int{1, 3}}, {rest: []int{2, 4}}}, 3, []int{1, 2, 3}},
		"only one wanted": {[]*numbers{{rest: []int{1, 2}}, {rest: []int{3}}}, 1, []int{1}},
	} {
		if got, err := mergeUpTo(t, test.limit, test.sources...); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

func TestMergeEndsWithTheErrorOfASource(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		sources []*numbers
		want    []int
	}{
		"at its first entry": {[]*numbers{{rest: []int{1}}, {err: broken}}, nil},
		"later":              {[]*numbers{{rest: []int{1, 3}}, {rest: []int{2}, err: broken}}, []int{1, 2}},
	} {
		if got, err := mergeUpTo(t, 9, test.sources...); !errors.Is(err, broken) || !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

func TestMergeReturnsTheErrorOfItsCallback(t *testing.T) {
	broken := errors.New("broken")
	err := storage.Merge(t.Context(), []*numbers{{rest: []int{1}}}, less, func(*int) (bool, error) { return true, broken })
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
