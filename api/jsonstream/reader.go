package jsonstream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"reflect"
)

// Reader encodes a value while it is read. What it gives is what an Encoder of
// encoding/json gives, without the newline at the end.
type Reader struct {
	ctx     context.Context
	text    bytes.Buffer
	encoder *json.Encoder
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
	r.encoder = json.NewEncoder(&r.text)
	r.encoder.SetEscapeHTML(escapeHTML)
	r.resume, r.stop = iter.Pull(func(pause func(struct{}) bool) {
		r.pause = pause
		r.err = cmp.Or(r.encode(reflect.ValueOf(value)), io.EOF)
	})
	return r
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

// streamed is a value that is encoded piece by piece: a List, Later or Map.
type streamed interface{ stream(r *Reader) error }

// encode encodes a value: what may be large member by member, or element by element.
func (r *Reader) encode(value reflect.Value) error {
	for value.IsValid() && value.Kind() == reflect.Interface {
		value = value.Elem()
	}
	if !value.IsValid() {
		return r.encodeWhole(value)
	}
	switch own := value.Interface().(type) {
	case streamed:
		return own.stream(r)
	case Form:
		return r.encode(reflect.ValueOf(own.JSONForm()))
	}
	shape := shapeOf(value.Type())
	switch {
	case !shape.divisible || value.Kind() == reflect.Slice && value.IsNil():
		return r.encodeWhole(value)
	case value.Kind() == reflect.Struct:
		return r.encodeObject(shape.membersOf(value))
	}
	elements := r.array()
	for i := range value.Len() {
		if err := elements.add(value.Index(i)); err != nil {
			return err
		}
	}
	return elements.end()
}

// encodeWhole encodes a value as a whole, and pauses if there is as much text as is wanted.
func (r *Reader) encodeWhole(value reflect.Value) error {
	var plain any
	if value.IsValid() && value.CanAddr() {
		plain = value.Addr().Interface()
	} else if value.IsValid() {
		plain = value.Interface()
	}
	if err := r.encoder.Encode(plain); err != nil {
		return err
	}
	r.text.Truncate(r.text.Len() - 1) // the newline
	if r.text.Len() >= r.wanted && !r.pause(struct{}{}) {
		return errClosed
	}
	return nil
}

func (r *Reader) encodeObject(members iter.Seq2[string, reflect.Value]) error {
	before := byte('{')
	for name, value := range members {
		r.text.WriteByte(before)
		before = ','
		if err := r.encodeWhole(reflect.ValueOf(name)); err != nil {
			return err
		}
		r.text.WriteByte(':')
		if err := r.encode(value); err != nil {
			return err
		}
	}
	if before == '{' {
		r.text.WriteByte(before)
	}
	r.text.WriteByte('}')
	return nil
}

// array is an array that is being encoded.
type array struct {
	*Reader
	before byte
}

func (r *Reader) array() *array { return &array{r, '['} }

// add encodes an element, as a whole unless it has lists of its own.
func (a *array) add(value reflect.Value) error {
	a.text.WriteByte(a.before)
	a.before = ','
	if shapeOf(value.Type()).streamed {
		return a.encode(value)
	}
	return a.encodeWhole(value)
}

func (a *array) end() error {
	if a.before == '[' {
		a.text.WriteByte(a.before)
	}
	a.text.WriteByte(']')
	return nil
}
