package pebble

import (
	"cmp"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"attestry/storage"
)

// retryPause is how long a refused file operation waits before it is repeated.
const retryPause = 100 * time.Millisecond

// health says whether the database takes writes. It refuses them while a file operation waits to be repeated, and for
// good after a failure that could have lost a write.
type health struct {
	folder  string
	closing <-chan struct{}
	// opened is set when the database is open. Before, failures end Open.
	opened atomic.Bool
	// failed is set when writes are refused for good.
	failed atomic.Bool
	state  atomic.Pointer[state]

	mu      sync.Mutex
	blocked int // operations that wait
}

type state struct {
	// refusing is closed when writes are refused with err, which may be read only then.
	refusing chan struct{}
	err      error
}

func newHealth(folder string, closing <-chan struct{}) *health {
	h := &health{folder: folder, closing: closing}
	h.state.Store(&state{refusing: make(chan struct{})})
	return h
}

// refuse makes all writes fail with an error. The mutex must be held.
func (h *health) refuse(reason string, cause error) {
	err := storage.RefuseWrite(storage.Database, reason, named(h.folder, cause))
	s := h.state.Load()
	select {
	case <-s.refusing:
		s = &state{refusing: make(chan struct{})}
		defer h.state.Store(s)
	default:
	}
	s.err = err
	close(s.refusing)
}

// block refuses writes until the returned function is called.
func (h *health) block(reason string, cause error) (unblock func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.blocked++
	if !h.failed.Load() {
		h.refuse(reason, cause)
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.blocked--; h.blocked == 0 && !h.failed.Load() {
			h.state.Store(&state{refusing: make(chan struct{})})
		}
	}
}

// fail refuses writes for good. From now on nothing is written to the files.
func (h *health) fail(cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed.Load() {
		return
	}
	h.refuse(cmp.Or(storage.RefusalOf(cause), "a write to its files failed"), fmt.Errorf("%w; restart Attestry when the cause is mended", cause))
	h.failed.Store(true)
}

// failure is the error of all writes since fail was called.
func (h *health) failure() error {
	if !h.failed.Load() {
		return nil
	}
	return h.state.Load().err
}

// pause waits for retryPause and reports whether the database is still open.
func (h *health) pause() bool {
	select {
	case <-time.After(retryPause):
		return true
	case <-h.closing:
		return false
	}
}

// retry repeats a repeatable file operation as long as the operating system refuses it, for example for a full disk.
func (h *health) retry(operation func() error) error {
	err := operation()
	reason := storage.RefusalOf(err)
	if reason == "" || !h.opened.Load() {
		return err
	}
	defer h.block(reason, err)()
	for storage.RefusalOf(err) != "" && !h.failed.Load() && h.pause() {
		err = operation()
	}
	return err
}
