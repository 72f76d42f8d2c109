package process

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// heapFloor is how large the heap may grow, in bytes, before garbage is collected at all.
const heapFloor = 128 << 20

// smallestHeap is what Go takes the heap to have at least, in bytes.
const smallestHeap = 4 << 20

// UsualGarbage is by how many percent the heap exceeds what is in use by Go's own rule.
const UsualGarbage = 100

// CollectGarbage has garbage collected once the heap has heapFloor, or exceeds what is in use by so many percent if that
// is more. By Go's own rule a small heap is collected many times a second. GOGC in the environment switches this off.
func CollectGarbage(percent int) {
	if os.Getenv("GOGC") == "" {
		adjustCollection(percent)
	}
}

// adjustCollection sets when garbage is collected next, and does so again after each collection.
func adjustCollection(least int) {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	live := samples[0].Value.Uint64()
	debug.SetGCPercent(collectionPercent(live, live+samples[1].Value.Uint64()+samples[2].Value.Uint64(), least))
	// Nothing refers to it, so that the next collection finds it.
	cycle := new(*int)
	runtime.AddCleanup(cycle, adjustCollection, least)
}

// collectionPercent is by how many percent of what is scanned the heap may exceed what is in use, both in bytes.
func collectionPercent(live, scanned uint64, least int) int {
	if live >= heapFloor {
		return least
	}
	return max(least, int(100*(heapFloor-live)/max(scanned, smallestHeap)))
}
