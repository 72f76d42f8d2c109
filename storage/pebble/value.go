package pebble

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"sync"

	"github.com/klauspost/compress/s2"

	"attestry/storage"
	"attestry/storage/pebble/ordered"
)

// The value of a record is its head, followed by the body unless that is stored apart, under a key of its own:
//
//	revision 8 bytes | place of the body 1 | size of the body 4 | size of the fields 4 | fields
//
// A field is the length of its name, the name, the kind and the content. Integers are big-endian.
const (
	placeAt    = 8
	bodySizeAt = 9
	fieldsAt   = 13
	headBytes  = 17
)

// The places of bodies.
const (
	bodyInline byte = iota
	bodyApart
	// bodyCompressed is apart, in the block format of S2. The size is that of the body itself.
	bodyCompressed
)

// inlineLimit is the greatest inline body. Larger ones have their own key, so that reading fields does not read them.
const inlineLimit = 4 << 10

var errValue = errors.New("malformed value of a record")

// head is the beginning of a record's value.
type head []byte

func cutHead(value []byte) (h head, inline []byte, err error) {
	if len(value) < headBytes {
		return nil, nil, errValue
	}
	end := headBytes + int(binary.BigEndian.Uint32(value[fieldsAt:]))
	if end > len(value) {
		return nil, nil, errValue
	}
	h, inline = head(value[:end]), value[end:]
	if !h.apart() && len(inline) != h.bodySize() {
		return nil, nil, errValue
	}
	return h, inline, nil
}

func (h head) revision() int64 { return int64(binary.BigEndian.Uint64(h)) }

func (h head) apart() bool { return h[placeAt] != bodyInline }

func (h head) bodySize() int { return int(binary.BigEndian.Uint32(h[bodySizeAt:])) }

// appendHead appends the head of a record, with declared fields in the order of the schema, without null fields.
func appendHead(value []byte, schema *storage.Schema, record *storage.Record) []byte {
	start := len(value)
	value = binary.BigEndian.AppendUint64(value, uint64(record.Revision))
	place := bodyInline
	if len(record.Body) > inlineLimit {
		place = bodyApart
	}
	value = append(value, place)
	value = binary.BigEndian.AppendUint32(value, uint32(len(record.Body)))
	value = append(value, 0, 0, 0, 0)
	for _, name := range schema.Fields {
		if content := record.Fields[name]; content != nil {
			value = binary.AppendUvarint(value, uint64(len(name)))
			value = append(value, name...)
			value = appendContent(value, content)
		}
	}
	binary.BigEndian.PutUint32(value[start+fieldsAt:], uint32(len(value)-start-headBytes))
	return value
}

func appendContent(value []byte, content any) []byte {
	switch v := content.(type) {
	case int64:
		return binary.BigEndian.AppendUint64(append(value, ordered.Integer), uint64(v))
	case float64:
		return binary.BigEndian.AppendUint64(append(value, ordered.Float), math.Float64bits(v))
	case string:
		value = binary.AppendUvarint(append(value, ordered.Text), uint64(len(v)))
		return append(value, v...)
	case bool:
		if v {
			return append(value, ordered.True)
		}
		return append(value, ordered.False)
	}
	return append(value, ordered.Null)
}

// cutContent is the reverse of appendContent.
func cutContent(data []byte) (content any, rest []byte, err error) {
	if len(data) == 0 {
		return nil, nil, errValue
	}
	kind, rest := data[0], data[1:]
	switch kind {
	case ordered.Text:
		text, rest, err := cutText(rest)
		return string(text), rest, err
	case ordered.Integer, ordered.Float:
		if len(rest) < 8 {
			return nil, nil, errValue
		}
		bits := binary.BigEndian.Uint64(rest)
		if kind == ordered.Integer {
			return int64(bits), rest[8:], nil
		}
		return math.Float64frombits(bits), rest[8:], nil
	case ordered.False, ordered.True:
		return kind == ordered.True, rest, nil
	case ordered.Null:
		return nil, rest, nil
	}
	return nil, nil, errValue
}

func cutText(data []byte) (text, rest []byte, err error) {
	length, n := binary.Uvarint(data)
	if n <= 0 || length > uint64(len(data)-n) {
		return nil, nil, errValue
	}
	end := n + int(length)
	return data[n:end], data[end:], nil
}

func (h head) fields() (map[string]any, error) {
	fields := map[string]any{}
	for rest := []byte(h[headBytes:]); len(rest) > 0; {
		var name []byte
		var content any
		var err error
		if name, rest, err = cutText(rest); err != nil {
			return nil, err
		}
		if content, rest, err = cutContent(rest); err != nil {
			return nil, err
		}
		fields[string(name)] = content
	}
	return fields, nil
}

// row is an encoded record. It is made before the write is queued, so that the committer has little to do and a caller
// that stopped waiting may change the record's fields. The body is not copied and must not be changed.
type row struct {
	collection *collection
	// key is that of the record.
	key []byte
	// value is that of the record, with an inline body; head is its beginning.
	value []byte
	head  head
	// body is a separate body as stored, or nil.
	body []byte
	// entries are the keys in the indexes of the collection, nil for an index without the record.
	entries [][]byte
}

// placeApart stores a body apart, compressed if that saves at least an eighth. Pebble compresses its tables, but not
// its log, and compresses a body again at each merge.
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

// compressed has buffers for compressed bodies, which are much smaller than the space that S2 needs.
var compressed = sync.Pool{New: func() any { return new([]byte) }}

// newKeyRow returns the row of a write without content.
func newKeyRow(c *collection, id string) row {
	return row{collection: c, key: c.records.key(id)}
}

func newRow(c *collection, record *storage.Record) row {
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
	r.entries = c.entriesOf(record.Fields, r.id())
	return r
}

func (r *row) id() []byte { return r.key[len(space{}):] }

func (r *row) bodyKey() []byte { return r.collection.bodies.key(string(r.id())) }

// bytes is the approximate size of the row in a batch.
func (r *row) bytes() int {
	n := len(r.key) + len(r.value) + len(r.body)
	for _, entry := range r.entries {
		n += len(entry)
	}
	return n
}

// entriesOf returns the index keys of a document with these fields. They share one buffer.
func (c *collection) entriesOf(fields map[string]any, id []byte) [][]byte {
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
	return entries
}
