package pebble

import (
	"errors"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// errNoRecord reports an index entry without a record, or a record without its body.
var errNoRecord = errors.New("an index entry without a record, or a record without its body")

// view is a durable state of the database, which reads see.
type view struct {
	pointReader
	users int // guarded by views.mu
}

// views hands out the view of the last durable state.
type views struct {
	engine *pebble.DB
	folder string

	mu      sync.Mutex
	current *view
	closed  bool
	readers sync.WaitGroup
}

func newViews(engine *pebble.DB, folder string) *views {
	v := &views{engine: engine, folder: folder}
	v.publish()
	return v
}

// publish makes the state that is in the engine now the one that reads see.
func (v *views) publish() {
	next := &view{pointReader: pointReader{source: v.engine.NewSnapshot(), folder: v.folder}, users: 1}
	v.mu.Lock()
	previous := v.current
	v.current = next
	v.mu.Unlock()
	if previous != nil {
		v.release(previous)
	}
}

// acquire returns the current view, or nil if the database is closed.
func (v *views) acquire() *view {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil
	}
	v.readers.Add(1)
	v.current.users++
	return v.current
}

func (v *views) done(used *view) {
	v.release(used)
	v.readers.Done()
}

func (v *views) release(used *view) {
	v.mu.Lock()
	used.users--
	last := used.users == 0
	v.mu.Unlock()
	if last {
		// It fails only for an engine that is closed.
		_ = used.source.Close()
	}
}

// close waits for all readers and lets no other in.
func (v *views) close() {
	v.mu.Lock()
	v.closed = true
	v.mu.Unlock()
	v.readers.Wait()
	v.release(v.current)
}
