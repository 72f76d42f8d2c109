package notify_test

import (
	"context"
	"sync"
)

// ending is a context that ends with an error of the test's choice, so no test has to wait for a time limit.
type ending struct {
	context.Context
	err  error
	done chan struct{}
	once sync.Once
}

func newEnding(err error) *ending {
	return &ending{Context: context.Background(), err: err, done: make(chan struct{})}
}

func (e *ending) finish() { e.once.Do(func() { close(e.done) }) }

// Done is closed by finish.
func (e *ending) Done() <-chan struct{} { return e.done }

// Err is set once Done is closed.
func (e *ending) Err() error {
	select {
	case <-e.done:
		return e.err
	default:
		return nil
	}
}
