// Package measure measures operations of the service and of the bare handler in turns.
package measure

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Turns is how often the two sides of a row alternate, so that a machine which
// slows down meanwhile slows both.
const Turns = 6

// Operation is one request with its answer checked. It is repeated by one client,
// never at the same time with itself.
type Operation func() error

// Pair is what one client does: an operation of the service, and the like of it
// on the bare handler.
type Pair struct {
	Service, Bare Operation
	// Answer is the size of the service's answer in bytes, where it is worth telling.
	Answer int
}

// Result is a measured row.
type Result struct {
	Name    string `json:"name"`
	Clients int    `json:"clients"`
	// Answer is the size of the service's answer in bytes, 0 where it is not told.
	Answer  int     `json:"answer_bytes,omitempty"`
	Service Summary `json:"service"`
	Bare    Summary `json:"bare"`
	Ratio   Ratio   `json:"ratio"`
}

// Measure lets all clients work on one side, then on the other, in turns, for
// span on each in total.
func Measure(ctx context.Context, pairs []Pair, span time.Duration) (Result, error) {
	var service, bare []Operation
	for _, p := range pairs {
		service, bare = append(service, p.Service), append(bare, p.Bare)
	}
	sides := []struct {
		operations []Operation
		samples    []sample
	}{{operations: service}, {operations: bare}}
	for range Turns {
		for i := range sides {
			done, err := drive(ctx, sides[i].operations, span/Turns)
			if err != nil {
				return Result{}, err
			}
			sides[i].samples = append(sides[i].samples, done)
		}
	}
	return Result{
		Clients: len(pairs),
		Answer:  pairs[0].Answer,
		Service: total(sides[0].samples),
		Bare:    total(sides[1].samples),
		Ratio:   compare(sides[0].samples, sides[1].samples),
	}, nil
}

func total(samples []sample) Summary {
	var all sample
	for _, s := range samples {
		all.add(s)
	}
	return all.summarize()
}

// drive lets each client repeat its operation until the time is up, at least
// once, and ends what has begun by then.
func drive(ctx context.Context, operations []Operation, span time.Duration) (sample, error) {
	// What the other side left behind is not this side's to clear away.
	runtime.GC()
	latencies := make([][]time.Duration, len(operations))
	faults := make([]error, len(operations))
	busy, err := processorTime()
	if err != nil {
		return sample{}, err
	}
	began := time.Now()
	var clients sync.WaitGroup
	for i, operation := range operations {
		clients.Go(func() { latencies[i], faults[i] = repeat(ctx, operation, began.Add(span)) })
	}
	clients.Wait()
	done := sample{elapsed: time.Since(began)}
	busyNow, err := processorTime()
	done.processor = busyNow - busy
	for _, own := range latencies {
		done.latencies = append(done.latencies, own...)
	}
	return done, errors.Join(append(faults, err)...)
}

// processorTime is how long this process has kept cores busy so far.
func processorTime() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("read the processor time: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}

func repeat(ctx context.Context, operation Operation, end time.Time) ([]time.Duration, error) {
	var latencies []time.Duration
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		began := time.Now()
		if err := operation(); err != nil {
			return nil, err
		}
		now := time.Now()
		latencies = append(latencies, now.Sub(began))
		if !now.Before(end) {
			return latencies, nil
		}
	}
}
