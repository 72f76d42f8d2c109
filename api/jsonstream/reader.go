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

// Reader encodes a value while it is read, as encoding/json's Encoder does, without the newline at the end.
type Reader struct {
	ctx  context.Context
	text bytes.Buffer
	// wanted is the size of text at which the encoding pauses, in bytes.
	wanted int
	// The encoding is a coroutine. resume continues it until it pauses or ends, and stop ends it. It calls pause, which
	// returns false after stop.
	resume func() (struct{}, bool)
	stop   func()
	pause  func(struct{}) bool
	// reads is set while the encoding is in a list that is not yet read to its end, or contains lists.
	reads bool
	// err is set once the encoding has ended: io.EOF if it is complete.
	err error
}

// NewReader makes a reader of a value, whose lists are read with ctx. escapeHTML escapes <, > and & in texts. The
// reader must be closed unless it is read to its end.
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

// pausing is the writer of the encoder, which writes a few KiB at a time. It pauses if there is as much text as wanted.
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

// Reads reports whether the encoding is in a list of which more is to be read.
func (r *Reader) Reads() bool { return r.reads }

// Read encodes until p is full, or to the end. After an error nothing more can be read.
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

// streamedTypes caches the results of isStreamed, for the types of answers.
var streamedTypes sync.Map

// isStreamed reports whether values of a type are streamed or a Form, or may contain such values.
func isStreamed(t reflect.Type) bool {
	known, ok := streamedTypes.Load(t)
	if !ok {
		known, _ = streamedTypes.LoadOrStore(t, holdsStreamed(t))
	}
	return known.(bool)
}

// holdsStreamed is isStreamed without the cache. within are the types that contain t, to end recursion.
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
