package pebble

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
)

// The kinds of field values. In index keys, they sort values as storage.CompareValues
// does; an int64 and a float64 are both kindNumber there.
const (
	kindNull byte = iota + 1
	kindNumber
	kindText
	kindFalse
	kindTrue
	// kindInteger is an int64 in the value of a record.
	kindInteger
	// kindFloat is a float64 in the value of a record.
	kindFloat
)

// numberBytes is the length of an encoded number without its kind.
const numberBytes = 10

// appendOrdered appends the encoding of a field value, which is ordered by its bytes as
// storage.CompareValues orders values. Values that are equal have one encoding, and no
// encoding is a prefix of another.
func appendOrdered(key []byte, value any) []byte {
	switch v := value.(type) {
	case int64:
		return appendInteger(key, v)
	case float64:
		return appendFloat(key, v)
	case string:
		return append(append(append(key, kindText), v...), 0)
	case bool:
		if v {
			return append(key, kindTrue)
		}
		return append(key, kindFalse)
	}
	return append(key, kindNull)
}

// appendInteger encodes an integer as the greatest float64 that does not exceed it, and
// the rest, which is less than 1,024. So integers and floats are ordered by their exact
// value.
func appendInteger(key []byte, value int64) []byte {
	floor := float64(value)
	if floor >= 1<<63 || int64(floor) > value {
		floor = math.Nextafter(floor, math.Inf(-1))
	}
	return appendNumber(key, floor, uint16(value-int64(floor)))
}

func appendFloat(key []byte, value float64) []byte {
	return appendNumber(key, value, 0)
}

func appendNumber(key []byte, floor float64, rest uint16) []byte {
	bits := math.Float64bits(floor + 0) // -0 + 0 is 0
	if bits>>63 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	key = binary.BigEndian.AppendUint64(append(key, kindNumber), bits)
	return binary.BigEndian.AppendUint16(key, rest)
}

var errIndexKey = errors.New("malformed key of an index")

// skipOrdered returns what follows the first n encoded values.
func skipOrdered(key []byte, n int) ([]byte, error) {
	for range n {
		length := 1
		switch {
		case len(key) == 0:
			return nil, errIndexKey
		case key[0] == kindNumber:
			length += numberBytes
		case key[0] == kindText:
			length = bytes.IndexByte(key, 0) + 1
		}
		if length == 0 || length > len(key) {
			return nil, errIndexKey
		}
		key = key[length:]
	}
	return key, nil
}

// after returns the least key that is greater than all keys with a prefix.
func after(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}
