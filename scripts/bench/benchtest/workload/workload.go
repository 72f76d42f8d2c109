// Package workload has the workloads of the benchmark: a table, the requests of clients, and their data.
package workload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"attestry/scripts/bench/benchtest/baseline"
	"attestry/scripts/bench/benchtest/measure"
)

// Workload is a kind of workload at one size, with a number of clients.
type Workload struct {
	kind
	variant
}

// All returns all workloads, those of each kind in order of size.
func All() []Workload {
	var all []Workload
	for _, k := range kinds {
		for _, v := range k.variants {
			all = append(all, Workload{k, v})
		}
	}
	return all
}

// Name identifies the workload in results.
func (w Workload) Name() string {
	return strings.ReplaceAll(w.series(), "{size}", strconv.Itoa(w.size))
}

func (w Workload) series() string {
	if w.clients == 1 {
		return w.name + ", 1 client"
	}
	return w.name + ", " + strconv.Itoa(w.clients) + " clients"
}

// Measures says what an operation of the workload is.
func (w Workload) Measures() string { return w.measures }

// Run measures the workload on a new service and a new baseline, for duration on each. Data and logs are in a new
// directory below directory, which is left there after an error.
func (w Workload) Run(ctx context.Context, engines Engines, directory string, duration time.Duration) (result measure.Result, err error) {
	f, err := openFixture(ctx, engines, directory, w.logged)
	if err != nil {
		return measure.Result{}, err
	}
	defer func() {
		err = errors.Join(err, f.close())
		if err == nil {
			err = os.RemoveAll(f.data)
		}
	}()
	return w.run(ctx, f, duration)
}

func (w Workload) run(ctx context.Context, f *fixture, duration time.Duration) (measure.Result, error) {
	for _, seed := range w.seeds {
		if err := seed(ctx, f, w.size); err != nil {
			return measure.Result{}, fmt.Errorf("seed: %w", err)
		}
	}
	clients := make([]measure.Client, w.clients)
	err := concurrently(w.clients, func(i int) (err error) {
		clients[i], err = w.newClient(f, i)
		return err
	})
	if err != nil {
		return measure.Result{}, err
	}
	result, err := measure.Run(ctx, clients, duration)
	result.Name, result.Series, result.Size = w.Name(), w.series(), w.size
	return result, err
}

// newClient sets up a client, and warms up the service and the baseline with one request each.
func (w Workload) newClient(f *fixture, number int) (measure.Client, error) {
	service, compared := newConnection(f.address, f.key), newConnection(f.baseline.Address, f.key)
	c := &client{fixture: f, variant: w.variant, number: number, connection: service}
	requests, same, err := w.setup(c)
	if err != nil {
		return measure.Client{}, fmt.Errorf("set up client %d: %w", number, err)
	}
	first, err := service.send(requests())
	if err != nil {
		return measure.Client{}, err
	}
	path, want, answerBytes := w.baseline, answer{http.StatusOK, `"OK"`}, 0
	switch path {
	case baseline.BytesPath:
		answerBytes = len(first.body)
		path, want = path+strconv.Itoa(answerBytes), answer{status: http.StatusOK}
	case ofService:
		compared = service
	}
	measured := measure.Client{
		Service: func() error {
			_, err := service.send(requests())
			return err
		},
		Baseline: func() error {
			r := same()
			if path != ofService {
				r.path, r.want = path, want
			}
			_, err := compared.send(r)
			return err
		},
		AnswerBytes: answerBytes,
		Bytes:       w.bytes * int64(w.size),
	}
	if w.beside != nil {
		measured.Beside = func() error { return w.beside(c) }
	}
	return measured, measured.Baseline()
}
