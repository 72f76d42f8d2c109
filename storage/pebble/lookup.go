package pebble

import (
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2"
)

// reader looks up keys one by one.
type reader interface {
	// get calls use with the value of a key, which is valid only during the call, and reports
	// whether the key exists.
	get(key []byte, use func(value []byte) error) (bool, error)
	// explain makes an error that callers understand of one of Pebble.
	explain(err error) error
}

// manyKeys is how many keys are looked up with one iterator: to open it takes as long as to look
// up a few keys does.
const manyKeys = 32

// lookup is a reader for many keys, best in their order. Unlike Get it consults the filters of the
// lowest level too, so that no block is read for a key that does not exist.
type lookup struct {
	iterator *pebble.Iterator
	folder   string
}

func newLookup(source pebble.Reader, folder string) (*lookup, error) {
	iterator, err := source.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return nil, explain(folder, err)
	}
	return &lookup{iterator: iterator, folder: folder}, nil
}

func (l *lookup) get(key []byte, use func(value []byte) error) (bool, error) {
	// To the default order of Pebble, a whole key is a prefix: no other key has it.
	if !l.iterator.SeekPrefixGE(key) {
		return false, l.explain(l.iterator.Error())
	}
	value, err := l.iterator.ValueAndErr()
	if err != nil {
		return false, l.explain(err)
	}
	return true, use(value)
}

func (l *lookup) explain(err error) error { return explain(l.folder, err) }

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
		return false, p.explain(err)
	}
	return true, closeAfter(closer, use(value))
}

func (p pointReader) explain(err error) error { return explain(p.folder, err) }

func withReader(source pebble.Reader, folder string, keys int, f func(reader) error) error {
	if keys < manyKeys {
		return f(pointReader{source: source, folder: folder})
	}
	many, err := newLookup(source, folder)
	if err != nil {
		return err
	}
	return closeAfter(many.iterator, f(many))
}

func closeAfter(closer io.Closer, err error) error {
	if failure := closer.Close(); err == nil {
		return failure
	}
	return err
}
