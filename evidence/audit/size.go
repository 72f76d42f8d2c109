package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// entrySize is the size of an entry of a map without its key and value, in bytes.
	entrySize = 64
	// growth is the factor by which the capacity of a growing list exceeds its length.
	growth = 2
	// customGrowth is the size per byte of JSON of a value with UnmarshalJSON. A list of empty strings is the worst.
	customGrowth = 8
)

var (
	rawMessage  = reflect.TypeFor[json.RawMessage]()
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
)

// decode reads a JSON member as Decode does, unless that takes too much memory.
func (v *Verifier) decode(content []byte, value any) error {
	if err := checkSize(content, value, v.limits.decoded); err != nil {
		return err
	}
	return Decode(content, value)
}

// checkSize returns an error if JSON that is decoded to value can take more bytes of memory than limit.
func checkSize(content []byte, value any, limit int64) error {
	s := sizer{Decoder: jsontext.NewDecoder(
		bytes.NewBuffer(content), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true),
	)}
	s.value(reflect.TypeOf(value).Elem())
	// Invalid JSON will not be decoded. Valid JSON that could not be measured may be of any size: the two libraries have
	// different limits of nesting.
	if s.size > limit || s.err != nil && json.Valid(content) {
		return fmt.Errorf("decoded, it takes more than %d bytes of memory", limit)
	}
	return nil
}

// sizer adds up the memory that JSON takes when it is decoded to a type. It stops where the JSON is invalid.
type sizer struct {
	*jsontext.Decoder
	size int64 // bytes
	err  error
}

// value adds the memory of a value beyond the size of its type.
func (s *sizer) value(of reflect.Type) {
	for of != nil && of.Kind() == reflect.Pointer {
		s.size += int64(of.Elem().Size())
		of = of.Elem()
	}
	first := s.PeekKind()
	switch {
	case of != nil && of != rawMessage && (reflect.PointerTo(of).Implements(unmarshaler) || of.Kind() == reflect.Interface):
		s.skip(customGrowth)
	case of != nil && of != rawMessage && first == '{' && (of.Kind() == reflect.Struct || of.Kind() == reflect.Map):
		s.object(of)
	case of != nil && of != rawMessage && first == '[' && of.Kind() == reflect.Slice:
		s.token()
		for s.err == nil && s.PeekKind() != ']' {
			s.size += growth * int64(of.Elem().Size())
			s.value(of.Elem())
		}
		s.token()
	default:
		s.skip(1)
	}
}

func (s *sizer) object(of reflect.Type) {
	s.token()
	for s.err == nil && s.PeekKind() != '}' {
		name := s.token().String()
		if of.Kind() == reflect.Map {
			s.size += entrySize + int64(of.Elem().Size()) + int64(len(name))
			s.value(of.Elem())
		} else {
			s.value(fieldType(of, name))
		}
	}
	s.token()
}

// token reads a token, unless there was an error.
func (s *sizer) token() (token jsontext.Token) {
	if s.err == nil {
		token, s.err = s.ReadToken()
	}
	return token
}

// skip skips a value and adds the memory for it: its length, multiplied by times.
func (s *sizer) skip(times int64) {
	before := s.InputOffset()
	s.err = cmp.Or(s.err, s.SkipValue())
	s.size += times * (s.InputOffset() - before)
}

// fieldType returns the type of the field that a member is decoded to, without regard to case, or nil.
func fieldType(of reflect.Type, name string) reflect.Type {
	for _, field := range reflect.VisibleFields(of) {
		known, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if strings.EqualFold(cmp.Or(known, field.Name), name) {
			return field.Type
		}
	}
	return nil
}

// limits bound the memory for a package, which may be hostile: a decoded member can take many times its length. Members
// that are only hashed may be longer.
type limits struct {
	document int64 // bytes of a member
	decoded  int64 // bytes of a decoded member
	// documents bounds the bytes of members that are kept, of the facts of attestations, and of all paths.
	documents int64
	members   int
	findings  int
}

const (
	// DefaultMemory is enough for packages of some ten thousand attestations, in bytes.
	DefaultMemory = 64 << 20
	// memberSize is the memory for a member without its path, in bytes.
	memberSize = 200
	// maxReason bounds a finding's reason, in bytes: names in a package can be of any length.
	maxReason = 1 << 10
	// stringHeader is the size of a string without its text, in bytes.
	stringHeader = 16
)

// reserve adds bytes to the memory in use, and checks the limit.
func (v *Verifier) reserve(size int) error {
	if v.used += int64(size); v.used > v.limits.documents {
		return fmt.Errorf("what verdicts are evaluated from takes more than %d bytes", v.limits.documents)
	}
	return nil
}

func lengthOf(texts ...string) int64 {
	length := 0
	for _, text := range texts {
		length += len(text)
	}
	return int64(length)
}

func (v *Verifier) report(member, format string, args ...any) {
	if len(v.findings) == v.limits.findings {
		v.omitted++
		return
	}
	reason := fmt.Sprintf(format, args...)
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + " …"
	}
	v.findings = append(v.findings, Finding{Member: member, Reason: reason})
}
