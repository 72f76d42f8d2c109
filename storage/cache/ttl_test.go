package cache

import (
	"strconv"
	"sync"
	"testing"
	"time"
)

func TestCacheIsBounded(t *testing.T) {
	c := NewTTL[int](time.Minute, 100).(*ttl[int])
	now := time.Unix(1000, 0)
	for i := range 10_000 {
		c.Put(strconv.Itoa(i), i, now, 0)
	}
	if len(c.values.(*lru[timed[int]]).elements) != 100 {
		t.Errorf("%d entries, want 100", len(c.values.(*lru[timed[int]]).elements))
	}
	if got, _, ok := c.Get("9999", now); !ok || got != 9999 {
		t.Error("the newest entry is not there")
	}
	c.Put("9999", 1, now, 0)
	if len(c.values.(*lru[timed[int]]).elements) != 100 {
		t.Error("an entry that was there made another one go")
	}
}

func TestCacheEntriesExpire(t *testing.T) {
	c := NewTTL[int](10*time.Second, 10).(*ttl[int])
	read := time.Unix(1000, 0)
	for _, one := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {10*time.Second - 1, true}, {10 * time.Second, false}, {-1, false}} {
		c.Put("key", 7, read, 0)
		if _, _, ok := c.Get("key", read.Add(one.after)); ok != one.want {
			t.Errorf("after %v: there is %v, want %v", one.after, ok, one.want)
		}
	}
}

func TestCacheIgnoresValuesReadBeforeClear(t *testing.T) {
	c := NewTTL[int](time.Minute, 10).(*ttl[int])
	now := time.Unix(1000, 0)
	_, version, _ := c.Get("key", now)
	c.Clear()
	c.Put("key", 7, now, version)
	if _, _, ok := c.Get("key", now); ok {
		t.Error("the old value is there")
	}
}

func TestCacheIsSafeForConcurrentUse(t *testing.T) {
	c := NewTTL[int](time.Minute, 8).(*ttl[int])
	now := time.Unix(1000, 0)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 1000 {
				key := strconv.Itoa((i * j) % 32)
				_, version, _ := c.Get(key, now)
				c.Put(key, j, now, version)
				if j%100 == 0 {
					c.Clear()
				}
			}
		})
	}
	wg.Wait()
	if len(c.values.(*lru[timed[int]]).elements) > 8 {
		t.Errorf("%d entries, want at most 8", len(c.values.(*lru[timed[int]]).elements))
	}
}
