package pebble

import (
	"bytes"
	"sync"

	"github.com/klauspost/compress/s2"

	"attestry/storage"
)

// row is a record as it is written. It is made before the write is queued, so that the
// committer has little to do, and a caller who no longer waits may change the record's
// fields. The body is not copied: nobody may change it.
type row struct {
	collection *collection
	// key is that of the record.
	key []byte
	// value is that of the record, with a body that is stored inline; head is its beginning.
	value []byte
	head  head
	// body is one that is stored apart, as it is stored, or nil.
	body []byte
	// entries are the keys in the indexes of the collection, nil where it is in none.
	entries [][]byte
}

// placeApart stores a body apart, compressed if that saves an eighth of it at least. Pebble
// compresses its tables, but not its log, and compresses a body anew whenever it merges tables.
func (r *row) placeApart(body []byte) {
	buffer := compressed.Get().(*[]byte)
	defer compressed.Put(buffer)
	*buffer = s2.Encode((*buffer)[:cap(*buffer)], body)
	if len(*buffer) > len(body)-len(body)/8 {
		r.body = body
		return
	}
	r.body, r.head[placeAt] = bytes.Clone(*buffer), bodyCompressed
}

// compressed has buffers for bodies that are compressed: these take up a fraction of the space
// that S2 wants to be given.
var compressed = sync.Pool{New: func() any { return new([]byte) }}

// newKeyRow returns the row of a write without content.
func newKeyRow(c *collection, id string) row {
	return row{collection: c, key: c.records.key(id)}
}

func newRow(c *collection, record *storage.Record) (row, error) {
	r := newKeyRow(c, record.ID)
	inline := 0
	if len(record.Body) <= inlineLimit {
		inline = len(record.Body)
	}
	buffer := make([]byte, 0, headBytes+32*len(c.schema.Fields)+inline)
	buffer = appendHead(buffer, c.schema, record)
	r.head = head(buffer)
	if r.head.apart() {
		r.placeApart(record.Body)
	} else {
		buffer = append(buffer, record.Body...)
		r.head = head(buffer[:len(r.head)])
	}
	r.value = buffer
	var err error
	r.entries, err = c.entriesOf(r.head, r.id())
	return r, err
}

// id is the end of the key.
func (r *row) id() []byte { return r.key[len(space{}):] }

func (r *row) bodyKey() []byte { return r.collection.bodies.key(string(r.id())) }

// bytes is about how much the row adds to a batch.
func (r *row) bytes() int {
	n := len(r.key) + len(r.value) + len(r.body)
	for _, entry := range r.entries {
		n += len(entry)
	}
	return n
}

// entriesOf returns the index keys of a document. They share one buffer.
func (c *collection) entriesOf(h head, id []byte) ([][]byte, error) {
	if len(c.indexes) == 0 {
		return nil, nil
	}
	var array [16]field
	fields, err := c.place(h, array[:])
	if err != nil {
		return nil, err
	}
	entries := make([][]byte, len(c.indexes))
	buffer := make([]byte, 0, len(c.indexes)*(64+len(id)))
	for i := range c.indexes {
		if !c.indexes[i].holds(fields) {
			continue
		}
		start := len(buffer)
		buffer = c.indexes[i].appendKey(buffer, fields, id)
		entries[i] = buffer[start:len(buffer):len(buffer)]
	}
	return entries, nil
}
