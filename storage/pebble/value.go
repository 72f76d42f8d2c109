package pebble

import (
	"encoding/binary"
	"errors"
	"math"

	"attestry/storage"
	"attestry/storage/pebble/ordered"
)

// The value of a record is its head, and the body behind it unless that is stored apart:
//
//	revision 8 bytes | place of the body 1 | size of the body 4 | size of the fields 4 | fields
//
// A field is the length of its name, the name, the kind and the content. Integers are
// big-endian.
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

// inlineLimit is the greatest body that is stored in the value of its record. Greater ones
// have a key of their own, so that reading fields does not read them.
const inlineLimit = 4 << 10

var errValue = errors.New("malformed value of a record")

// head is the beginning of a record's value.
type head []byte

// cutHead splits a record's value into its head and the inline body.
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

// appendHead appends the head of a record, with the declared fields in the order of the
// schema. Null fields are left out.
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

type field struct {
	name, content []byte
	kind          byte
}

// cutField splits the first field off the fields of a head.
func cutField(fields []byte) (f field, rest []byte, err error) {
	if f.name, rest, err = cutText(fields); err != nil {
		return field{}, nil, err
	}
	if len(rest) == 0 {
		return field{}, nil, errValue
	}
	f.kind, rest = rest[0], rest[1:]
	switch f.kind {
	case ordered.Text:
		f.content, rest, err = cutText(rest)
		return f, rest, err
	case ordered.Integer, ordered.Float:
		if len(rest) < 8 {
			return field{}, nil, errValue
		}
		f.content, rest = rest[:8], rest[8:]
	case ordered.Null, ordered.False, ordered.True:
	default:
		return field{}, nil, errValue
	}
	return f, rest, nil
}

func cutText(data []byte) (text, rest []byte, err error) {
	length, n := binary.Uvarint(data)
	if n <= 0 || length > uint64(len(data)-n) {
		return nil, nil, errValue
	}
	end := n + int(length)
	return data[n:end], data[end:], nil
}

func (f *field) integer() int64 { return int64(binary.BigEndian.Uint64(f.content)) }

func (f *field) float() float64 { return math.Float64frombits(binary.BigEndian.Uint64(f.content)) }

// value returns the content as storage.Record.Fields has it.
func (f *field) value() any {
	switch f.kind {
	case ordered.Integer:
		return f.integer()
	case ordered.Float:
		return f.float()
	case ordered.Text:
		return string(f.content)
	case ordered.False, ordered.True:
		return f.kind == ordered.True
	}
	return nil
}

// appendOrdered is ordered.Append of the field's value. The zero field is null.
func (f *field) appendOrdered(key []byte) []byte {
	switch f.kind {
	case ordered.Integer:
		return ordered.AppendInteger(key, f.integer())
	case ordered.Float:
		return ordered.AppendFloat(key, f.float())
	case ordered.Text:
		return append(append(append(key, ordered.Text), f.content...), 0)
	case ordered.False, ordered.True:
		return append(key, f.kind)
	}
	return append(key, ordered.Null)
}

func (h head) fields() (map[string]any, error) {
	fields := map[string]any{}
	for rest := []byte(h[headBytes:]); len(rest) > 0; {
		var f field
		var err error
		if f, rest, err = cutField(rest); err != nil {
			return nil, err
		}
		fields[string(f.name)] = f.value()
	}
	return fields, nil
}
