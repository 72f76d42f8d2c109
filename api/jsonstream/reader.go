package jsonstream

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"reflect"
)

// Reader encodes a value while it is read. What it gives is what an Encoder of
// encoding/json gives, without the newline at the end.
type Reader struct {
	ctx     context.Context
	text    bytes.Buffer
	encoder *json.Encoder
	// frames are what has been begun, the innermost last.
	frames []frame
	// open caches the results of holdsList.
	open map[reflect.Type]bool
	err  error
}

// frame is a value that is being encoded.
type frame interface {
	// step encodes some more and reports whether the value is complete.
	step(r *Reader) (done bool, err error)
	// reads reports whether there are lists in what is left of the value.
	reads(r *Reader) bool
}

// NewReader begins to encode a value; its lists are read with ctx. Unless escapeHTML is
// set, <, > and & stay as they are in texts.
func NewReader(ctx context.Context, value any, escapeHTML bool) *Reader {
	r := &Reader{ctx: ctx, open: map[reflect.Type]bool{}}
	r.encoder = json.NewEncoder(&r.text)
	r.encoder.SetEscapeHTML(escapeHTML)
	r.frames = append(r.frames, &pending{reflect.ValueOf(value)})
	return r
}

// SetContext replaces the context that lists are read with.
func (r *Reader) SetContext(ctx context.Context) { r.ctx = ctx }

// Reads reports whether lists are left that have to be read.
func (r *Reader) Reads() bool {
	for _, f := range r.frames {
		if f.reads(r) {
			return true
		}
	}
	return false
}

// Read encodes as much as is needed to fill p, or to the end. After an error nothing more
// can be read.
func (r *Reader) Read(p []byte) (int, error) {
	for r.err == nil && r.text.Len() < len(p) && len(r.frames) > 0 {
		innermost := len(r.frames) - 1
		done, err := r.frames[innermost].step(r)
		if done {
			// Frames that the last step has appended take the place of the completed one.
			r.frames = append(r.frames[:innermost], r.frames[innermost+1:]...)
		}
		r.err = err
	}
	switch {
	case r.err != nil:
		return 0, r.err
	case r.text.Len() == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return r.text.Read(p)
}

// encode encodes a value as a whole.
func (r *Reader) encode(value reflect.Value) error {
	if !value.IsValid() {
		r.text.WriteString("null")
		return nil
	}
	if value.CanAddr() {
		value = value.Addr()
	}
	if err := r.encoder.Encode(value.Interface()); err != nil {
		return err
	}
	r.text.Truncate(r.text.Len() - 1) // the newline
	return nil
}

// pending is the value that is encoded next.
type pending struct{ value reflect.Value }

func (p *pending) step(r *Reader) (bool, error) {
	value := p.value
	for value.IsValid() && value.Kind() == reflect.Interface {
		value = value.Elem()
	}
	if !value.IsValid() {
		return true, r.encode(value)
	}
	switch special := value.Interface().(type) {
	case lister:
		r.frames = append(r.frames, &list{lister: special, more: true})
		return true, nil
	case mapper:
		r.frames = append(r.frames, &object{members: special.members()})
		return true, nil
	case deferred:
		r.frames = append(r.frames, &pending{special.known()})
		return true, nil
	case Form:
		r.frames = append(r.frames, &pending{reflect.ValueOf(special.JSONForm())})
		return true, nil
	}
	switch {
	case divisible(value.Type()) && value.Kind() == reflect.Struct:
		r.frames = append(r.frames, &object{members: membersOf(value)})
	case divisible(value.Type()) && !value.IsNil():
		r.frames = append(r.frames, &array{elements: value})
	default:
		return true, r.encode(value)
	}
	return true, nil
}

func (p *pending) reads(r *Reader) bool { return p.value.IsValid() && r.holdsList(p.value.Type()) }
