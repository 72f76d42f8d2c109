package process

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// heapFloor is the size of the heap, in bytes, below which no garbage collection starts.
const heapFloor = 128 << 20

// minGoHeap is the minimum heap size of the Go runtime with GOGC=100, in bytes.
const minGoHeap = 4 << 20

// DefaultGCPercent is the default GOGC of Go.
const DefaultGCPercent = 100

// TuneGC sets GOGC to percent with a minimum heap of heapFloor: Go alone collects a small heap many times a second. It
// does nothing if the environment has GOGC.
func TuneGC(percent int) {
	if os.Getenv("GOGC") == "" {
		adjustGC(percent)
	}
}

// adjustGC sets the GC percentage for the next collection, and again after each collection.
func adjustGC(minPercent int) {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	live := samples[0].Value.Uint64()
	debug.SetGCPercent(gcPercent(live, live+samples[1].Value.Uint64()+samples[2].Value.Uint64(), minPercent))
	// The object is unreachable, so the next collection runs its cleanup.
	cycle := new(*int)
	runtime.AddCleanup(cycle, adjustGC, minPercent)
}

// gcPercent returns how far the heap may grow beyond live bytes until the next collection, in percent of scanned bytes.
func gcPercent(live, scanned uint64, minPercent int) int {
	if live >= heapFloor {
		return minPercent
	}
	return max(minPercent, int(100*(heapFloor-live)/max(scanned, minGoHeap)))
}
