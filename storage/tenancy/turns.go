package tenancy

import (
	"context"
	"sync"
)

// turns lets one caller of this process at a time hold a key.
type turns struct {
	mu    sync.Mutex
	byKey map[string]*turn
}

// turn is a key that callers hold or wait for.
type turn struct {
	held    chan struct{} // has an element while a caller is through
	callers int
}

func newTurns() *turns { return &turns{byKey: map[string]*turn{}} }

// take waits until nobody else holds a key, and holds it until release is called.
func (t *turns) take(ctx context.Context, key string) (release func(), err error) {
	t.mu.Lock()
	mine := t.byKey[key]
	if mine == nil {
		mine = &turn{held: make(chan struct{}, 1)}
		t.byKey[key] = mine
	}
	mine.callers++
	t.mu.Unlock()
	select {
	case mine.held <- struct{}{}:
		return func() {
			<-mine.held
			t.leave(key, mine)
		}, nil
	case <-ctx.Done():
		t.leave(key, mine)
		return nil, ctx.Err()
	}
}

// leave removes a key when its last caller leaves.
func (t *turns) leave(key string, left *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if left.callers--; left.callers == 0 {
		delete(t.byKey, key)
	}
}
