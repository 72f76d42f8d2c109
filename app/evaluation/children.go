package evaluation

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// children are the free child processes. The caller bounds the evaluations, and so the children.
type children struct {
	limits Limits

	mu   sync.Mutex
	idle []*child
}

// evaluate passes a request to a child. A child that fails is ended and replaced at once, so that no other evaluation
// waits. The error is errOverLimits if it exceeded its limits. Children that died while idle are replaced, too.
func (c *children) evaluate(ctx context.Context, r request) (answer, error) {
	for {
		child, fresh, err := c.take()
		if err != nil {
			return answer{}, err
		}
		a, err := child.call(ctx, r)
		if err == nil {
			c.put(child)
			return a, nil
		}
		ended := child.end()
		if !fresh && ctx.Err() == nil && errors.Is(err, errNotSent) {
			continue
		}
		if next, err := startChild(c.limits); err == nil {
			c.put(next)
		}
		return answer{}, fmt.Errorf("%w: %w", err, ended)
	}
}

// take returns the child that was used last, or a fresh one.
func (c *children) take() (taken *child, fresh bool, err error) {
	c.mu.Lock()
	last := len(c.idle) - 1
	if last < 0 {
		c.mu.Unlock()
		taken, err = startChild(c.limits)
		return taken, true, err
	}
	defer c.mu.Unlock()
	taken = c.idle[last]
	c.idle = c.idle[:last]
	return taken, false, nil
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
