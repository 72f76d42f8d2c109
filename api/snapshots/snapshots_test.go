package snapshots

import (
	"math"
	"testing"
)

func TestPagesAreBoundedByTheSnapshotsThatExist(t *testing.T) {
	for _, c := range []struct {
		page, perPage int
		reverse       bool
		first, last   int64
	}{
		{1, 3, false, 7, 9}, {3, 3, false, 1, 3}, {1, 3, true, 1, 3},
		{1, math.MaxInt, false, 1, 9}, {1, math.MaxInt, true, 1, 9},
	} {
		first, last := pageWithin(1, 9, c.page, c.perPage, c.reverse)
		if first != c.first || last != c.last {
			t.Errorf("page %d of %d: %d to %d, want %d to %d", c.page, c.perPage, first, last, c.first, c.last)
		}
	}
	for _, reverse := range []bool{false, true} {
		for _, size := range []int{9, math.MaxInt} {
			if first, last := pageWithin(1, 9, 2, size, reverse); first <= last {
				t.Errorf("page 2 of %d holds %d to %d", size, first, last)
			}
		}
	}
	if first, last := pageWithin(5, 9, 1, math.MaxInt, true); first != 5 || last != 9 {
		t.Errorf("all from 5 are %d to %d", first, last)
	}
}
