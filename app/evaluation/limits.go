package evaluation

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"attestry/goroutine"
)

const (
	// watchInterval is how often a running evaluation is looked at.
	watchInterval = 5 * time.Millisecond
	// maxStack is how large a stack may grow, in bytes.
	maxStack = 64 << 20
	// overhead is what the process may map beside what is live: garbage, stacks of threads, and
	// what the runtime knows about the heap. It is less than the 64 MiB by which the runtime
	// extends the heap, so it does not make room for another such step.
	overhead = 56 << 20
)

// Limits are those of one check, compilation or judgement, which is refused beyond them.
type Limits struct {
	// Bytes is how many bytes the evaluation may allocate, which does not depend on other load.
	Bytes uint64
	// Memory is how many bytes may be live at once. It protects the machine, and the operating
	// system enforces it on every step. Garbage collection varies from run to run, so an evaluation
	// near it may pass once and be refused later.
	Memory uint64
	// CPU bounds the CPU time, as a last resort after the other limits and deadlines.
	CPU time.Duration
}

// productionLimits bound what users define. An honest rule that copies a list or an object once for each entry of the
// largest payload allocates 1 to 3 GiB; what allocates without end reaches the limit within seconds. The CPU time is
// less than a request has, so that what takes too long is refused, not to be tried again.
var productionLimits = Limits{Bytes: 4 << 30, Memory: 128 << 20, CPU: 20 * time.Second}

// apply sets what bounds the process as a whole.
func (l Limits) apply() error {
	runtime.GOMAXPROCS(1)
	debug.SetMaxStack(maxStack)
	// Garbage is collected before the system refuses more memory.
	debug.SetMemoryLimit(int64(l.Memory + overhead/2))
	// A single step of a library may ask for many gigabytes at once.
	return limitMemory(l.Memory + overhead)
}

// watch runs an evaluation, and ends the process beyond a limit. It returns the allocated bytes.
func (l Limits) watch(evaluation func()) (allocated uint64) {
	began := measure()
	_, stop := goroutine.Every(context.Background(), watchInterval, func(context.Context) error { l.enforce(began); return nil })
	evaluation()
	stop()
	// The watch may have missed the end, or ended itself. This check does not depend on its timing.
	allocated = l.enforce(began)
	if allocated > l.Memory/4 {
		runtime.GC() // so that the next evaluation is not charged for this one's memory
	}
	return allocated
}

// enforce returns the bytes allocated since the beginning, and ends the process beyond a limit.
func (l Limits) enforce(began usage) uint64 {
	now := measure()
	allocated := now.allocated - began.allocated
	switch {
	case allocated > l.Bytes:
		exit(overLimitsStatus, "it allocates too many bytes")
	case now.live > l.Memory:
		exit(overLimitsStatus, "it uses too much memory at once")
	case now.cpu-began.cpu > l.CPU:
		exit(overLimitsStatus, "it takes too much CPU time")
	}
	return allocated
}

func exit(status int, cause string) {
	fmt.Fprintln(os.Stderr, cause)
	os.Exit(status)
}

// usage is what the process has used so far.
type usage struct {
	allocated uint64 // bytes in all
	live      uint64 // bytes that the last garbage collection found in use
	cpu       time.Duration
}

// measure ends the process if the system does not tell its CPU time.
func measure() usage {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	cpu, err := cpuTime()
	if err != nil {
		exit(brokenStatus, "read the CPU time: "+err.Error())
	}
	return usage{allocated: samples[0].Value.Uint64(), live: samples[1].Value.Uint64(), cpu: cpu}
}
