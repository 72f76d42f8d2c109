package jsonstream

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"reflect"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// Reader encodes a value while it is read. What it gives is what an Encoder of
// encoding/json gives, without the newline at the end.
type Reader struct {
	ctx  context.Context
	text bytes.Buffer
	// wanted is how much text there is when the encoding pauses, in bytes.
	wanted int
	// resume goes on with the encoding until it pauses or ends, and stop ends it. The encoding pauses by pause, which is
	// false once it is to end.
	resume func() (struct{}, bool)
	stop   func()
	pause  func(struct{}) bool
	// reads is set while a list is encoded that is not read to its end, or has lists in it.
	reads bool
	// err is set once the encoding has ended: io.EOF if it is complete.
	err error
}

// NewReader begins to encode a value; its lists are read with ctx. Unless escapeHTML is
// set, <, > and & stay as they are in texts. The reader must be closed unless it is read to its end.
func NewReader(ctx context.Context, value any, escapeHTML bool) *Reader {
	r := &Reader{ctx: ctx}
	options := []json.Options{jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(escapeHTML)}
	if value != nil && isStreamed(reflect.TypeOf(value)) {
		options = append(options, json.WithMarshalers(json.JoinMarshalers(
			json.MarshalToFunc(func(to *jsontext.Encoder, value streamed) error { return value.stream(r, to) }),
			json.MarshalToFunc(func(to *jsontext.Encoder, value Form) error { return json.MarshalEncode(to, value.JSONForm()) }),
		)))
	}
	r.resume, r.stop = iter.Pull(func(pause func(struct{}) bool) {
		r.pause = pause
		r.err = cmp.Or(json.MarshalWrite(pausing{r}, value, options...), io.EOF)
	})
	return r
}

// pausing takes what is encoded, a few KiB at a time, and pauses if there is as much text as is wanted.
type pausing struct{ *Reader }

func (p pausing) Write(text []byte) (int, error) {
	p.text.Write(text)
	if p.text.Len() >= p.wanted && !p.pause(struct{}{}) {
		return 0, errClosed
	}
	return len(text), nil
}

// SetContext replaces the context that lists are read with.
func (r *Reader) SetContext(ctx context.Context) { r.ctx = ctx }

// Reads reports whether a list has been begun and is left to be read.
func (r *Reader) Reads() bool { return r.reads }

// Read encodes as much as is needed to fill p, or to the end. After an error nothing more can be read.
func (r *Reader) Read(p []byte) (int, error) {
	if r.wanted = len(p); r.err == nil && r.text.Len() < r.wanted {
		r.resume()
	}
	if r.err != nil && (!errors.Is(r.err, io.EOF) || r.text.Len() == 0) {
		return 0, r.err
	}
	return r.text.Read(p)
}

var errClosed = errors.New("the reader of an answer is closed")

// Close ends the encoding.
func (r *Reader) Close() error {
	r.stop()
	r.err = cmp.Or(r.err, errClosed)
	return nil
}

// streamed is a value that is encoded piece by piece: a List or Map.
type streamed interface {
	stream(r *Reader, to *jsontext.Encoder) error
}

// streamedTypes has for types that were met what isStreamed returns; as many as answers have.
var streamedTypes sync.Map

// isStreamed reports whether values of a type are streamed or a Form, or may have such values in them.
func isStreamed(t reflect.Type) bool {
	known, ok := streamedTypes.Load(t)
	if !ok {
		known, _ = streamedTypes.LoadOrStore(t, holdsStreamed(t))
	}
	return known.(bool)
}

// holdsStreamed looks at a type within others that have values of it in them.
func holdsStreamed(t reflect.Type, within ...reflect.Type) bool {
	if t.Implements(reflect.TypeFor[streamed]()) || t.Implements(reflect.TypeFor[Form]()) {
		return true
	}
	if slices.Contains(within, t) {
		return false
	}
	within = append(within, t)
	switch t.Kind() {
	case reflect.Slice, reflect.Pointer:
		return holdsStreamed(t.Elem(), within...)
	case reflect.Struct:
		for field := range t.Fields() {
			if holdsStreamed(field.Type, within...) {
				return true
			}
		}
	}
	return false
}
