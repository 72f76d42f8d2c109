package pebble

import (
	"errors"
	"io"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

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

// publish makes the state of the engine the one that reads see.
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

// close waits for all readers and admits no other.
func (v *views) close() {
	v.mu.Lock()
	v.closed = true
	v.mu.Unlock()
	v.readers.Wait()
	v.release(v.current)
}

// reader looks up keys one by one.
type reader interface {
	// get calls use with the value of a key, which is valid only during the call, and reports whether the key exists.
	get(key []byte, use func(value []byte) error) (bool, error)
}

// manyKeys is the least number of keys that are looked up with an iterator. Opening one costs about a few look-ups.
const manyKeys = 32

// manyReader is a reader for many keys, best in order. Unlike Get it uses the filters of the lowest level too, so that
// no block is read for a missing key.
type manyReader struct {
	iterator *pebble.Iterator
	folder   string
}

func (m manyReader) get(key []byte, use func(value []byte) error) (bool, error) {
	// To Pebble's default comparer, the prefix of a key is the whole key, so this finds no other key.
	if !m.iterator.SeekPrefixGE(key) {
		return false, explain(m.folder, m.iterator.Error())
	}
	value, err := m.iterator.ValueAndErr()
	if err != nil {
		return false, explain(m.folder, err)
	}
	return true, use(value)
}

type pointReader struct {
	source pebble.Reader
	folder string
}

func (p pointReader) get(key []byte, use func(value []byte) error) (bool, error) {
	value, closer, err := p.source.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, explain(p.folder, err)
	}
	return true, closeAfter(closer, use(value))
}

func withReader(source pebble.Reader, folder string, keys int, f func(reader) error) error {
	if keys < manyKeys {
		return f(pointReader{source: source, folder: folder})
	}
	iterator, err := source.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return explain(folder, err)
	}
	return closeAfter(iterator, f(manyReader{iterator: iterator, folder: folder}))
}

func closeAfter(closer io.Closer, err error) error {
	if failure := closer.Close(); err == nil {
		return failure
	}
	return err
}
