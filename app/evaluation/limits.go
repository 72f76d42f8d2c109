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
	// watchInterval is how often the use of a running evaluation is checked.
	watchInterval = 5 * time.Millisecond
	// maxStack bounds the size of a stack, in bytes.
	maxStack = 64 << 20
	// overhead is how much the process may map besides live memory: garbage, stacks, and the runtime's data about the
	// heap. It is below the 64 MiB by which the runtime extends the heap, so it does not allow another extension.
	overhead = 56 << 20
)

// Limits bound one check, compilation or evaluation, which is refused beyond them.
type Limits struct {
	// Bytes is how many bytes the evaluation may allocate, which does not depend on other load.
	Bytes uint64
	// Memory is how many bytes may be live at once. It protects the machine, and the operating system enforces it on
	// every step. Garbage collection varies, so an evaluation near the limit may pass once and be refused later.
	Memory uint64
	// CPU bounds the CPU time, as a last resort after the other limits and deadlines.
	CPU time.Duration
}

// productionLimits bound users' definitions. An honest rule that copies a list or an object once for each entry of the
// largest payload allocates 1 to 3 GiB; one that allocates without end reaches the limit within seconds. The CPU time
// is below the timeout of a request, so that a slow evaluation is refused rather than tried again.
var productionLimits = Limits{Bytes: 4 << 30, Memory: 128 << 20, CPU: 20 * time.Second}

// ofVerifier returns the limits for payloads that were accepted within these ones. How much memory and time an evaluation
// takes also depends on the machine. What was accepted must be accepted again, so they are wider.
func (l Limits) ofVerifier() Limits {
	return Limits{Bytes: 2 * l.Bytes, Memory: 2 * l.Memory, CPU: 3 * l.CPU}
}

// apply sets the limits of the process as a whole.
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
	// The periodic check may have missed the end of the evaluation, or have stopped. Check once more.
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

// usage is the use of the process so far.
type usage struct {
	allocated uint64 // bytes in all
	live      uint64 // bytes that the last garbage collection found in use
	cpu       time.Duration
}

// measure ends the process if its CPU time cannot be read.
func measure() usage {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	cpu, err := cpuTime()
	if err != nil {
		exit(brokenStatus, "read the CPU time: "+err.Error())
	}
	return usage{allocated: samples[0].Value.Uint64(), live: samples[1].Value.Uint64(), cpu: cpu}
}
