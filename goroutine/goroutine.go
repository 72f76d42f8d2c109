// Package goroutine starts all goroutines of the service. It turns a panic, which would end the process, into an error.
package goroutine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"
)

// ErrPanicked is the error of a function that has panicked.
var ErrPanicked = errors.New("it panicked")

// Recovered runs a function and returns its panic as an ErrPanicked with the stack.
func Recovered(run func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v\n%s", ErrPanicked, cause, debug.Stack())
		}
	}()
	return run()
}

// Start runs a function in a new goroutine, and then calls ended with its error. It does not recover a panic of ended.
func Start(run func() error, ended func(error)) {
	go func() { ended(Recovered(run)) }()
}

// Group runs functions in new goroutines and waits for them. The zero value has no limit.
type Group struct{ group errgroup.Group }

// Limit sets how many functions run at once. Call it before Go.
func (g *Group) Limit(n int) { g.group.SetLimit(n) }

// Go runs a function when the limit allows it.
func (g *Group) Go(run func() error) {
	g.group.Go(func() error { return Recovered(run) })
}

// Wait waits for all functions and returns the first error.
func (g *Group) Wait() error { return g.group.Wait() }

// Every calls a function in a new goroutine once per interval, until the context ends, a call fails, or stop is called.
// stop waits for a running call. Then the returned context ends, and the error of a failed call is its cause.
func Every(ctx context.Context, interval time.Duration, run func(context.Context) error) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var running Group
	running.Go(func() error {
		ticks := time.Tick(interval)
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-ticks:
			}
			if err := Recovered(func() error { return run(ctx) }); err != nil {
				cancel(err)
				return nil
			}
		}
	})
	return ctx, func() {
		cancel(context.Canceled)
		_ = running.Wait() // it has no error
	}
}
