package attestation

import (
	"context"
	"errors"
)

// maxSteps bounds the steps of the jq machine for one payload, all rules together: about
// a second of CPU time. They are counted, not timed, so that a busy machine changes no
// verdict. A rule over all values of the largest payload takes one to four million.
const maxSteps = 10_000_000

var errSteps = errors.New("takes too many steps")

// steps is a budget of steps. The jq machine asks the Done of its context before
// each step, so a context is what can count them; it has no deadline.
type steps struct {
	context.Context
	left  int
	ended chan struct{} // closed
}

func newSteps() *steps {
	s := &steps{Context: context.Background(), left: maxSteps, ended: make(chan struct{})}
	close(s.ended)
	return s
}

func (s *steps) spent() bool { return s.left <= 0 }

// Done counts a step, and is closed once the budget is spent.
func (s *steps) Done() <-chan struct{} {
	s.left--
	if s.spent() {
		return s.ended
	}
	return nil
}

// Err is why Done is closed.
func (s *steps) Err() error {
	if s.spent() {
		return errSteps
	}
	return nil
}
