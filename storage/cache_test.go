package storage

import (
	"strconv"
	"sync"
	"testing"
	"time"
)

func TestCacheIsBounded(t *testing.T) {
	c := newCache[int](time.Minute, 100)
	now := time.Unix(1000, 0)
	for i := range 10_000 {
		c.put(strconv.Itoa(i), i, now, 0)
	}
	if len(c.entries) != 100 {
		t.Errorf("%d entries, want 100", len(c.entries))
	}
	if got, _, ok := c.get("9999", now); !ok || got != 9999 {
		t.Error("the newest entry is not there")
	}
	c.put("9999", 1, now, 0)
	if len(c.entries) != 100 {
		t.Error("an entry that was there made another one go")
	}
}

func TestCacheForgetsByAge(t *testing.T) {
	c := newCache[int](10*time.Second, 10)
	read := time.Unix(1000, 0)
	for _, one := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {10*time.Second - 1, true}, {10 * time.Second, false}, {-1, false}} {
		c.put("key", 7, read, 0)
		if _, _, ok := c.get("key", read.Add(one.after)); ok != one.want {
			t.Errorf("after %v: there is %v, want %v", one.after, ok, one.want)
		}
	}
}

func TestCacheRefusesWhatWasReadBeforeAForgetting(t *testing.T) {
	c := newCache[int](time.Minute, 10)
	now := time.Unix(1000, 0)
	forgettings := map[string]func(){"forget": func() { c.forget("key") }, "clear": c.clear}
	for name, forget := range forgettings {
		_, version, _ := c.get("key", now)
		forget()
		c.put("key", 7, now, version)
		if _, _, ok := c.get("key", now); ok {
			t.Errorf("after %s the old value is there", name)
		}
	}
}

func TestCacheIsSafeForConcurrentUse(t *testing.T) {
	c := newCache[int](time.Minute, 8)
	now := time.Unix(1000, 0)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 1000 {
				key := strconv.Itoa((i * j) % 32)
				_, version, _ := c.get(key, now)
				c.put(key, j, now, version)
				if j%100 == 0 {
					c.forget(key)
				}
			}
		})
	}
	wg.Wait()
	if len(c.entries) > 8 {
		t.Errorf("%d entries, want at most 8", len(c.entries))
	}
}
