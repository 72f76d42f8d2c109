package evaluation

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// watchInterval is how often a running evaluation is looked at.
	watchInterval = 5 * time.Millisecond
	// maxStack is how large a stack may grow, in bytes.
	maxStack = 64 << 20
)

// apply sets what bounds the process as a whole.
func (l Limits) apply() error {
	runtime.GOMAXPROCS(1)
	debug.SetMaxStack(maxStack)
	// Garbage is collected before it makes the heap reach the limit.
	debug.SetMemoryLimit(int64(l.Memory / 4 * 3))
	// A single step of a library may ask for many gigabytes at once.
	return limitData(2 * l.Memory)
}

// watch runs an evaluation, and ends the process when it exceeds a limit.
func (l Limits) watch(evaluation func()) error {
	began, err := cpuTime()
	if err != nil {
		return fmt.Errorf("read the CPU time: %w", err)
	}
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		ticker := time.NewTicker(watchInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				l.enforce(began)
			}
		}
	})
	evaluation()
	close(done)
	watching.Wait()
	return nil
}

// enforce ends the process when the evaluation that began at a CPU time exceeds a
// limit.
func (l Limits) enforce(began time.Duration) {
	now, err := cpuTime()
	switch {
	case err != nil:
		exit(err.Error())
	case now-began > l.CPU:
		exit("the CPU time is spent")
	case heapSize() > l.Memory:
		exit("the memory is spent")
	}
}

func exit(cause string) {
	fmt.Fprintln(os.Stderr, cause)
	os.Exit(overLimitsStatus)
}

func heapSize() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
