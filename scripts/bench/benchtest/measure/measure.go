// Package measure lets clients call a service and a baseline alternately, and computes statistics and ratios of both.
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

// Rounds is how often service and baseline alternate, so that both are affected if the machine slows down.
const Rounds = 6

// Operation sends one request and checks the answer. A client does not call it concurrently with itself.
type Operation func() error

// Client has the operations that one client repeats.
type Client struct {
	Service, Baseline Operation
	// AnswerBytes is the size of the service's answers, 0 if it is not printed.
	AnswerBytes int
	// Bytes is how many bytes an operation processes, 0 if it is not printed.
	Bytes int64
	// Beside is called once in each round of the service, which lasts until it returns. It may be nil. Only that of the
	// first client is called.
	Beside Operation
}

// Result is the result of one workload. Some names in JSON differ from those of fields: programs may rely on them.
type Result struct {
	Name        string  `json:"name"`
	Clients     int     `json:"clients"`
	AnswerBytes int     `json:"answer_bytes,omitempty"`
	Service     Summary `json:"service"`
	Baseline    Summary `json:"bare"`
	Ratio       Ratio   `json:"ratio"`
	// Bytes is how many bytes an operation processes, 0 if it is not printed.
	Bytes int64 `json:"bytes,omitempty"`
	// Beside is the median time of Client.Beside in milliseconds, 0 if there was none.
	Beside float64 `json:"beside_ms,omitempty"`
	// Series is the same for workloads that differ only in Size.
	Series string `json:"-"`
	Size   int    `json:"-"`
}

// Run lets all clients call the service, then the baseline, and so on in rounds, for duration on each in total. It ends
// with the first round in which an operation fails. Name, Series and Size of the result are left empty.
func Run(ctx context.Context, clients []Client, duration time.Duration) (Result, error) {
	var service, baseline []Operation
	for _, c := range clients {
		service, baseline = append(service, c.Service), append(baseline, c.Baseline)
	}
	var services, baselines []sample
	for range Rounds {
		s, err := callAll(ctx, service, duration/Rounds, clients[0].Beside)
		if err != nil {
			return Result{}, err
		}
		b, err := callAll(ctx, baseline, duration/Rounds, nil)
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
		Bytes:       clients[0].Bytes,
		Beside:      milliseconds(medianBeside(services)),
	}, nil
}

// callAll calls the operations concurrently, each at least once, until the duration is over and beside has returned.
func callAll(ctx context.Context, operations []Operation, duration time.Duration, beside Operation) (sample, error) {
	// Collect the garbage of the other side first, so that it does not count here.
	runtime.GC()
	latencies := make([][]time.Duration, len(operations))
	errs := make([]error, len(operations)+1)
	memory := watchMemory()
	cpuBefore, err := cpuTime()
	if err != nil {
		return sample{}, err
	}
	var s sample
	var group sync.WaitGroup
	start, ended := time.Now(), make(chan struct{})
	if beside == nil {
		close(ended)
	} else {
		group.Go(func() {
			defer close(ended)
			errs[len(operations)] = beside()
			s.beside = time.Since(start)
		})
	}
	for i, operation := range operations {
		group.Go(func() { latencies[i], errs[i] = repeat(ctx, operation, start.Add(duration), ended) })
	}
	group.Wait()
	s.elapsed, s.memory = time.Since(start), memory.end()
	cpu, err := cpuTime()
	s.cpu = cpu - cpuBefore
	for _, own := range latencies {
		s.latencies = append(s.latencies, own...)
	}
	return s, errors.Join(append(errs, err)...)
}

// repeat calls an operation until a call ends after the deadline and after beside is closed.
func repeat(ctx context.Context, operation Operation, deadline time.Time, beside <-chan struct{}) ([]time.Duration, error) {
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
		if end.Before(deadline) {
			continue
		}
		select {
		case <-beside:
			return latencies, nil
		default:
		}
	}
}

// cpuTime returns the processor time that this process has used so far, on all cores.
func cpuTime() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("read the processor time: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}
