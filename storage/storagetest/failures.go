package storagetest

import (
	"errors"
	"testing"

	"attestry/goroutine"
	"attestry/storage"
)

// errInjected is the error of a command that fails.
var errInjected = errors.New("a command fails")

// EachFailure calls run with engines of which one command fails, for each command that run uses. It fails the test if
// run does not return the error of the command then, or returns that of a panic, or if there are fewer than least
// commands. open returns the engine for a call.
func EachFailure(t *testing.T, least int, open func() storage.Documents, run func(docs storage.Documents) error) {
	t.Helper()
	for at := 1; ; at++ {
		injector := NewFaultInjector(open(), Fault{At: at, Err: errInjected})
		err := run(injector)
		switch {
		case !injector.Reached.Load() && err != nil:
			t.Errorf("without a failure: %v", err)
			return
		case !injector.Reached.Load():
			if at <= least {
				t.Errorf("there are only %d commands", at-1)
			}
			return
		case err == nil:
			t.Errorf("command %d fails without an error", at)
		case errors.Is(err, goroutine.ErrPanicked): // it would count as an attempt, though an outage does not
			t.Errorf("command %d fails with a panic: %v", at, err)
		case !errors.Is(err, errInjected):
			t.Errorf("command %d fails with another error: %v", at, err)
		}
	}
}
