// Package ordered encodes the values of fields so that the bytes are ordered as the values are.
package ordered

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
)

// The kinds of field values. In index keys, they sort values as storage.CompareValues
// does; an int64 and a float64 are both Number there.
const (
	Null byte = iota + 1
	Number
	Text
	False
	True
	// Integer is an int64 in the value of a record.
	Integer
	// Float is a float64 in the value of a record.
	Float
)

// numberBytes is the length of an encoded number without its kind.
const numberBytes = 10

// Append appends the encoding of a field value, which is ordered by its bytes as storage.CompareValues orders values.
// Values that are equal have one encoding, and no encoding is a prefix of another.
func Append(key []byte, value any) []byte {
	switch v := value.(type) {
	case int64:
		return appendInteger(key, v)
	case float64:
		return appendNumber(key, v, 0)
	case string:
		return append(append(append(key, Text), v...), 0)
	case bool:
		if v {
			return append(key, True)
		}
		return append(key, False)
	}
	return append(key, Null)
}

// appendInteger encodes an integer as the greatest float64 that does not exceed it, and the rest, which is less than
// 1,024. So integers and floats are ordered by their exact value.
func appendInteger(key []byte, value int64) []byte {
	floor := float64(value)
	if floor >= 1<<63 || int64(floor) > value {
		floor = math.Nextafter(floor, math.Inf(-1))
	}
	return appendNumber(key, floor, uint16(value-int64(floor)))
}

func appendNumber(key []byte, floor float64, rest uint16) []byte {
	bits := math.Float64bits(floor + 0) // -0 + 0 is 0
	if bits>>63 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	key = binary.BigEndian.AppendUint64(append(key, Number), bits)
	return binary.BigEndian.AppendUint16(key, rest)
}

// ErrMalformed reports a key that is not made of encoded values.
var ErrMalformed = errors.New("malformed key of an index")

// Skip returns what follows the first n encoded values.
func Skip(key []byte, n int) ([]byte, error) {
	for range n {
		length := 1
		switch {
		case len(key) == 0:
			return nil, ErrMalformed
		case key[0] == Number:
			length += numberBytes
		case key[0] == Text:
			length = bytes.IndexByte(key, 0) + 1
		}
		if length == 0 || length > len(key) {
			return nil, ErrMalformed
		}
		key = key[length:]
	}
	return key, nil
}

// After returns the least key that is greater than all keys with a prefix.
func After(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}
