package cache

import "testing"

func TestValueIsSharedWhileItIsUsed(t *testing.T) {
	made := 0
	c := NewShared(func() *int { made++; return new(made) }).(*shared[int])
	first, leaveFirst := c.Use("a")
	second, leaveSecond := c.Use("a")
	if other, leave := c.Use("b"); first != second || other == first {
		t.Error("values are not shared by key")
	} else {
		leave()
	}
	leaveFirst()
	if again, leave := c.Use("a"); again != first {
		t.Error("a value in use is forgotten")
	} else {
		leave()
	}
	leaveSecond()
	if len(c.values) != 0 {
		t.Errorf("%d values are kept that nobody uses", len(c.values))
	}
	if _, leave := c.Use("a"); made != 3 {
		t.Errorf("made %d values", made)
	} else {
		leave()
	}
}
