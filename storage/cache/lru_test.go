package cache

import (
	"strconv"
	"testing"
)

func TestRecentlyUsedValuesAreKept(t *testing.T) {
	c := NewLRU[int](100).(*lru[int])
	for i := range 4 {
		c.Get("0") // is used all the time
		c.Put(strconv.Itoa(i), i, 33)
	}
	for i, want := range []bool{true, false, true, true} {
		if got, ok := c.Get(strconv.Itoa(i)); ok != want || ok && got != i {
			t.Errorf("value %d: got %d, kept %v", i, got, ok)
		}
	}
}

func TestValueThatIsTooLargeEvictsNothing(t *testing.T) {
	c := NewLRU[string](100).(*lru[string])
	c.Put("small", "x", 100)
	c.Put("huge", "x", 101)
	if _, ok := c.Get("huge"); ok {
		t.Error("the huge value is kept")
	}
	if _, ok := c.Get("small"); !ok || c.size != 100 || c.order.Len() != 1 || len(c.elements) != 1 {
		t.Errorf("the small value is kept: %v; size %d, %d values", ok, c.size, c.order.Len())
	}
}

func TestValueThatIsPutAgainIsReplaced(t *testing.T) {
	c := NewLRU[string](100).(*lru[string])
	c.Put("key", "old", 60)
	c.Put("key", "new", 70)
	if got, _ := c.Get("key"); got != "new" || c.size != 70 || c.order.Len() != 1 || len(c.elements) != 1 {
		t.Errorf("got %q; size %d, %d values", got, c.size, c.order.Len())
	}
}
