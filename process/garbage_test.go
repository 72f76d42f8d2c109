package process

import (
	"runtime"
	"testing"
	"time"
)

func TestHeapGrowsToTheFloorBeforeItIsCollected(t *testing.T) {
	for _, one := range []struct {
		live, others uint64
		want         int
	}{{1 << 20, 1 << 20, 3_175}, {32 << 20, 0, 300}, {64 << 20, 0, 100}, {100 << 20, 0, 50}, {128 << 20, 0, 50}, {1 << 30, 0, 50}} {
		if got := gcPercent(one.live, one.live+one.others, 50); got != one.want {
			t.Errorf("with %d MiB in use it is %d percent", one.live>>20, got)
		}
	}
}

func TestCollectionThresholdFollowsTheHeapInUse(t *testing.T) {
	t.Setenv("GOGC", "")
	TuneGC(50)
	next := func(within func(next uint64) bool, when string) {
		t.Helper()
		var stats runtime.MemStats
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
			runtime.GC()
			if runtime.ReadMemStats(&stats); within(stats.NextGC) {
				return
			}
		}
		t.Errorf("%s it is collected at %d MiB", when, stats.NextGC>>20)
	}
	next(func(next uint64) bool { return next > heapFloor*3/4 && next < heapFloor*5/4 }, "with little in use")
	const large = 300 << 20
	inUse := make([]byte, large)
	next(func(next uint64) bool { return next > large && next < large*17/10 }, "with 300 MiB in use")
	runtime.KeepAlive(inUse)
	next(func(next uint64) bool { return next < heapFloor*5/4 }, "once that is free")
}
