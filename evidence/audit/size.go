package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

const (
	// entrySize is what an entry of a map takes beside its key and value, in bytes.
	entrySize = 64
	// growth is how much room there is for the entries of a list while it grows.
	growth = 2
)

// customGrowth is how much longer JSON may become that a type decodes by itself: a list of empty strings.
const customGrowth = 8

var rawMessage = reflect.TypeFor[json.RawMessage]()

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// decode reads a JSON member as Decode does, unless that takes too much memory.
func (v *Verifier) decode(content []byte, value any) error {
	if err := checkSize(content, value, v.limits.decoded); err != nil {
		return err
	}
	return Decode(content, value)
}

// checkSize is an error if a value that JSON is decoded to can take more bytes of memory than a limit.
func checkSize(content []byte, value any, limit int64) error {
	if !json.Valid(content) {
		return nil // it will not be decoded
	}
	s := sizer{rest: content}
	s.value(reflect.TypeOf(value).Elem())
	if s.size > limit {
		return fmt.Errorf("decoded, it takes more than %d bytes of memory", limit)
	}
	return nil
}

// sizer walks through valid JSON and counts what it takes when it is decoded to a type.
type sizer struct {
	rest []byte
	size int64 // bytes
}

// value counts a value beside what its type has by itself.
func (s *sizer) value(of reflect.Type) {
	for of != nil && of.Kind() == reflect.Pointer {
		s.size += int64(of.Elem().Size())
		of = of.Elem()
	}
	first := s.next()
	switch {
	case of != nil && of != rawMessage && (reflect.PointerTo(of).Implements(unmarshaler) || of.Kind() == reflect.Interface):
		s.size += customGrowth * s.skip(first)
	case of == nil || of == rawMessage:
		s.size += s.skip(first)
	case first == '{' && (of.Kind() == reflect.Struct || of.Kind() == reflect.Map):
		s.object(of)
	case first == '[' && of.Kind() == reflect.Slice:
		s.list(of.Elem())
	default:
		s.size += s.skip(first)
	}
}

func (s *sizer) object(of reflect.Type) {
	s.rest = s.rest[1:]
	for s.next() != '}' {
		name := s.text()
		s.next() // the colon
		s.rest = s.rest[1:]
		if of.Kind() == reflect.Map {
			s.size += entrySize + int64(of.Elem().Size()) + int64(len(name))
			s.value(of.Elem())
		} else {
			s.value(fieldType(of, name))
		}
		s.separator()
	}
	s.rest = s.rest[1:]
}

func (s *sizer) list(of reflect.Type) {
	s.rest = s.rest[1:]
	for s.next() != ']' {
		s.size += growth * int64(of.Size())
		s.value(of)
		s.separator()
	}
	s.rest = s.rest[1:]
}

// next skips white space and returns the first byte behind it.
func (s *sizer) next() byte {
	s.rest = bytes.TrimLeft(s.rest, " \t\r\n")
	return s.rest[0]
}

func (s *sizer) separator() {
	if s.next() == ',' {
		s.rest = s.rest[1:]
	}
}

// text skips a string and returns it with its quotes.
func (s *sizer) text() []byte {
	end := 1
	for s.rest[end] != '"' {
		if s.rest[end] == '\\' {
			end++
		}
		end++
	}
	text := s.rest[:end+1]
	s.rest = s.rest[end+1:]
	return text
}

// skip skips a value that begins with a byte, and returns its length.
func (s *sizer) skip(first byte) int64 {
	before := len(s.rest)
	switch first {
	case '"':
		s.text()
	case '{', '[':
		s.nested()
	default:
		end := bytes.IndexAny(s.rest, ",]} \t\r\n")
		if end < 0 {
			end = len(s.rest)
		}
		s.rest = s.rest[end:]
	}
	return int64(before - len(s.rest))
}

// nested skips an object or a list.
func (s *sizer) nested() {
	for depth := 0; ; {
		switch s.rest[0] {
		case '"':
			s.text()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.rest = s.rest[1:]
		if depth == 0 {
			return
		}
	}
}

// fieldType returns the type of the field that a member is decoded to, in whichever case, or nil.
func fieldType(of reflect.Type, quoted []byte) reflect.Type {
	var name string
	if json.Unmarshal(quoted, &name) != nil {
		return nil
	}
	for _, field := range reflect.VisibleFields(of) {
		known, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if strings.EqualFold(cmp.Or(known, field.Name), name) {
			return field.Type
		}
	}
	return nil
}
