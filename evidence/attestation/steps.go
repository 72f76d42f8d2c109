package attestation

import "context"

// maxSteps bounds the steps of the jq machine for one payload, all rules together: about a second of CPU time. Steps
// are counted, not timed, so that load changes no verdict. A rule over all values of the largest payload takes one to
// four million.
const maxSteps = 10_000_000

// steps is a budget of steps. The jq machine calls the Done of its context before each step, so a context can count
// them. The embedded context has ended, so that the machine stops as soon as Done returns its channel.
type steps struct {
	context.Context
	left int
}

func newSteps() *steps {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	return &steps{Context: ended, left: maxSteps}
}

func (s *steps) spent() bool { return s.left <= 0 }

// Done counts a step, and returns a closed channel once the budget is spent.
func (s *steps) Done() <-chan struct{} {
	if s.left--; s.spent() {
		return s.Context.Done()
	}
	return nil
}
