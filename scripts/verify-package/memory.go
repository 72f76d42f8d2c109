package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"attestry/goroutine"
)

const (
	// programSize is the memory outside the Go runtime, and what the runtime takes at the start on few processors, in
	// bytes.
	programSize = 22 << 20
	// maxProcessors bounds the processors for the runtime. With many of them it collects garbage later.
	maxProcessors = 4
	// softShare of the memory of the Go runtime is its soft limit, where it collects garbage continuously. At hardShare
	// the process exits. The rest is a reserve for allocations between two checks.
	softShare = 0.75
	hardShare = 0.9
	// On a busy machine the runtime collects too late. So garbage is also collected above collectShare, before the next
	// member is read, at most once per collectPause.
	collectShare = 0.82
	collectPause = 20 * time.Millisecond
	// guardInterval is the time between two checks of the memory.
	guardInterval = time.Millisecond
)

// watchMemory ends the process when its memory nears the limit. It prints the member that is being read, of which it is told
// by setMember. end ends the watch.
func watchMemory(o *options, out io.Writer) (setMember func(string), end func()) {
	var member atomic.Value
	member.Store("")
	collect, end := guardMemory(o.memory, func() {
		fmt.Fprintf(out, "FAILED   %s: to verify the package takes more than %d MiB of memory; --memory allows more\n",
			printable(member.Load().(string)), o.memory>>20)
		os.Exit(unsound)
	})
	return func(name string) {
		member.Store(name)
		collect()
	}, end
}

// guardMemory watches the memory of the process until end is called. When it nears the limit, it calls exceeded, which
// exits. The sizes of documents are bounded, so the process cannot allocate much more between two checks. To be called
// between members, collect collects garbage if the runtime is late.
func guardMemory(memory int64, exceeded func()) (collect, end func()) {
	// The runtime takes more at the start the more processors there are. What is left for a package does not depend on it.
	runtimeMemory := float64(memory-programSize) + used()
	runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), maxProcessors))
	debug.SetMemoryLimit(int64(runtimeMemory * softShare))
	inUse := func() float64 { return used() / runtimeMemory }
	_, end = goroutine.Every(context.Background(), guardInterval, func(context.Context) error {
		if inUse() > hardShare {
			exceeded()
		}
		return nil
	})
	var collected time.Time
	return func() {
		if inUse() > collectShare && time.Since(collected) > collectPause {
			runtime.GC()
			collected = time.Now()
		}
	}, end
}

// used returns the memory of the Go runtime without what was returned to the system, in bytes.
func used() float64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return float64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
