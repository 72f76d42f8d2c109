package main

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// programSize is what the process takes beside the memory of the Go runtime, in bytes.
	programSize = 14 << 20
	// collectedShare and endedShare are at which shares of the rest garbage is collected without pause,
	// and the process ends. The rest is for what is allocated between two looks.
	collectedShare = 0.75
	endedShare     = 0.9
	// lookInterval is how often a guard looks.
	lookInterval = time.Millisecond
)

// guardMemory begins to look how much memory the process has, and calls exceeded, which ends it, when that nears a number
// of bytes. The sizes of documents are bounded, so that it cannot take much more in one step. It looks until end is called.
func guardMemory(memory int64, exceeded func()) (end func()) {
	own := float64(memory - programSize)
	debug.SetMemoryLimit(int64(own * collectedShare))
	done, looking := make(chan struct{}), new(sync.WaitGroup)
	looking.Go(func() {
		ticker := time.NewTicker(lookInterval)
		defer ticker.Stop()
		// What the Go runtime has, and what of it was given back.
		samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
			}
			metrics.Read(samples)
			if inUse := samples[0].Value.Uint64() - samples[1].Value.Uint64(); float64(inUse) > own*endedShare {
				exceeded()
			}
		}
	})
	return func() {
		close(done)
		looking.Wait()
	}
}
