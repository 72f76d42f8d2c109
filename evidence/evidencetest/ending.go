package evidencetest

import (
	"context"
	"sync"
)

// Ending is a context that ends with an error of the test's choice, so no test has to wait for a time limit.
type Ending struct {
	context.Context
	once sync.Once
	done chan struct{}
	err  error
}

// NewEnding returns a context with the values of parent. It does not end before End is called.
func NewEnding(parent context.Context) *Ending {
	return &Ending{Context: parent, done: make(chan struct{})}
}

// End ends the context with an error. Further calls change nothing.
func (e *Ending) End(err error) {
	e.once.Do(func() {
		e.err = err
		close(e.done)
	})
}

// Done is closed by End.
func (e *Ending) Done() <-chan struct{} { return e.done }

// Err is set once Done is closed.
func (e *Ending) Err() error {
	select {
	case <-e.done:
		return e.err
	default:
		return nil
	}
}
