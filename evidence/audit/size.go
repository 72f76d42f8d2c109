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
	// entrySize is what an entry of a map takes beside its key and value, in bytes.
	entrySize = 64
	// growth is how much room there is for the entries of a list while it grows.
	growth = 2
	// customGrowth is how much longer JSON may become that a type decodes by itself: a list of empty strings.
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

// checkSize is an error if a value that JSON is decoded to can take more bytes of memory than a limit.
func checkSize(content []byte, value any, limit int64) error {
	s := sizer{Decoder: jsontext.NewDecoder(
		bytes.NewBuffer(content), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true),
	)}
	s.value(reflect.TypeOf(value).Elem())
	// What is not valid will not be decoded. What is, and could not be measured to its end, such as the deepest nesting
	// that one library takes and the other does not, may be of any size.
	if s.size > limit || s.err != nil && json.Valid(content) {
		return fmt.Errorf("decoded, it takes more than %d bytes of memory", limit)
	}
	return nil
}

// sizer walks through JSON and counts what it takes when it is decoded to a type. It ends where the JSON is not valid.
type sizer struct {
	*jsontext.Decoder
	size int64 // bytes
	err  error
}

// value counts a value beside what its type has by itself.
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

// token reads a token, unless there was an error before.
func (s *sizer) token() (token jsontext.Token) {
	if s.err == nil {
		token, s.err = s.ReadToken()
	}
	return token
}

// skip skips a value, each byte of which takes so many in memory.
func (s *sizer) skip(times int64) {
	before := s.InputOffset()
	s.err = cmp.Or(s.err, s.SkipValue())
	s.size += times * (s.InputOffset() - before)
}

// fieldType returns the type of the field that a member is decoded to, in whichever case, or nil.
func fieldType(of reflect.Type, name string) reflect.Type {
	for _, field := range reflect.VisibleFields(of) {
		known, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if strings.EqualFold(cmp.Or(known, field.Name), name) {
			return field.Type
		}
	}
	return nil
}

// limits bound what is read and kept of a package, which may be hostile. While a member is decoded it can take many times
// its length. Members that nothing is evaluated from are only hashed, and may be longer.
type limits struct {
	document int64 // bytes of a member
	decoded  int64 // bytes that a member may take when it is decoded
	// documents bounds the bytes of members that are kept, of what is kept of attestations, and of all paths.
	documents int64
	members   int
	findings  int
}

const (
	// DefaultMemory is enough for packages of some ten thousand attestations, in bytes.
	DefaultMemory = 64 << 20
	// memberSize is what is kept of a member beside its path, in bytes.
	memberSize = 200
	// maxReason is how many bytes of a reason are kept: names in a package can be of any length.
	maxReason = 1 << 10
	// stringHeader is what a string in a list takes beside its text, in bytes.
	stringHeader = 16
)

// hold counts bytes that are kept in memory, and compares all that is kept with the limit.
func (v *Verifier) hold(size int) error {
	if v.held += int64(size); v.held > v.limits.documents {
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
