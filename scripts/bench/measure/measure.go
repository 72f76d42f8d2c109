// Package measure lets clients call a service and a baseline alternately, and computes
// statistics and ratios of both.
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

// Rounds is how often service and baseline alternate, so that a machine that slows down
// during a measurement slows both.
const Rounds = 6

// Operation sends one request and checks the answer. One client calls it again and again,
// never concurrently with itself.
type Operation func() error

// Client is what one client repeats.
type Client struct {
	Service, Baseline Operation
	// AnswerBytes is the size of the service's answers, 0 where it is not printed.
	AnswerBytes int
}

// Result is what was measured of one workload. The names in JSON differ from those of fields
// where programs may rely on them.
type Result struct {
	Name        string  `json:"name"`
	Clients     int     `json:"clients"`
	AnswerBytes int     `json:"answer_bytes,omitempty"`
	Service     Summary `json:"service"`
	Baseline    Summary `json:"bare"`
	Ratio       Ratio   `json:"ratio"`
	// Series is the same for workloads that differ only in Size.
	Series string `json:"-"`
	Size   int    `json:"-"`
}

// Run lets all clients call the service, then all of them the baseline, and so on in rounds,
// for duration on each in total. It ends with the first round in which an operation fails. Of
// the result, Name, Series and Size are left empty.
func Run(ctx context.Context, clients []Client, duration time.Duration) (Result, error) {
	var service, baseline []Operation
	for _, c := range clients {
		service, baseline = append(service, c.Service), append(baseline, c.Baseline)
	}
	var services, baselines []sample
	for range Rounds {
		s, err := callAll(ctx, service, duration/Rounds)
		if err != nil {
			return Result{}, err
		}
		b, err := callAll(ctx, baseline, duration/Rounds)
		if err != nil {
			return Result{}, err
		}
		services, baselines = append(services, s), append(baselines, b)
	}
	return Result{
		Clients:     len(clients),
		AnswerBytes: clients[0].AnswerBytes,
		Service:     merge(services).summarize(),
		Baseline:    merge(baselines).summarize(),
		Ratio:       compare(services, baselines),
	}, nil
}

// callAll calls the operations concurrently, each again and again until the duration is over,
// at least once.
func callAll(ctx context.Context, operations []Operation, duration time.Duration) (sample, error) {
	// The garbage of the other side is not collected at the expense of this one.
	runtime.GC()
	latencies := make([][]time.Duration, len(operations))
	errs := make([]error, len(operations))
	cpuBefore, err := cpuTime()
	if err != nil {
		return sample{}, err
	}
	start := time.Now()
	var clients sync.WaitGroup
	for i, operation := range operations {
		clients.Go(func() { latencies[i], errs[i] = repeat(ctx, operation, start.Add(duration)) })
	}
	clients.Wait()
	s := sample{elapsed: time.Since(start)}
	cpu, err := cpuTime()
	s.cpu = cpu - cpuBefore
	for _, own := range latencies {
		s.latencies = append(s.latencies, own...)
	}
	return s, errors.Join(append(errs, err)...)
}

// repeat calls an operation until a call ends after the deadline.
func repeat(ctx context.Context, operation Operation, deadline time.Time) ([]time.Duration, error) {
	var latencies []time.Duration
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		start := time.Now()
		if err := operation(); err != nil {
			return nil, err
		}
		end := time.Now()
		latencies = append(latencies, end.Sub(start))
		if !end.Before(deadline) {
			return latencies, nil
		}
	}
}

// cpuTime is the processor time that this process has used so far, on all cores.
func cpuTime() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("read the processor time: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}
