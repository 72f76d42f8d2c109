package evaluation

import (
	"context"
	"fmt"
	"sync"
)

// children are the child processes that are free. The caller bounds how many
// evaluations run at once, and so how many children there are.
type children struct {
	limits Limits

	mu   sync.Mutex
	idle []*child
}

// evaluate has a child answer. A child that did not is ended; errOverLimits means that
// it ended by itself since the evaluation exceeded the limits.
func (c *children) evaluate(ctx context.Context, r request) (answer, error) {
	child, err := c.take()
	if err != nil {
		return answer{}, err
	}
	a, err := child.ask(ctx, r)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", err, child.end())
	}
	c.put(child)
	return a, nil
}

// take returns the child that was used last, or a new one.
func (c *children) take() (*child, error) {
	c.mu.Lock()
	last := len(c.idle) - 1
	if last < 0 {
		c.mu.Unlock()
		return startChild(c.limits)
	}
	defer c.mu.Unlock()
	free := c.idle[last]
	c.idle = c.idle[:last]
	return free, nil
}

func (c *children) put(free *child) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, free)
}

func (c *children) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, free := range c.idle {
		_ = free.end() // it did not end by itself
	}
	c.idle = nil
}
