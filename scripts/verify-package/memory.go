package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"attestry/goroutine"
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
	// What the Go runtime has, and what of it was given back.
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	_, end = goroutine.Every(context.Background(), lookInterval, func(context.Context) error {
		metrics.Read(samples)
		if inUse := samples[0].Value.Uint64() - samples[1].Value.Uint64(); float64(inUse) > own*endedShare {
			exceeded()
		}
		return nil
	})
	return end
}
