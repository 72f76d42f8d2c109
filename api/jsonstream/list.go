// Package jsonstream encodes and decodes JSON piece by piece. Answers are encoded while they are sent, and the elements
// of a List are read meanwhile.
package jsonstream

import (
	"context"
	"errors"
	"iter"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// List is a JSON array whose elements are read in batches while it is sent, which is possible once. The zero List is an
// empty array.
type List[T any] struct {
	next func(ctx context.Context) (batch []T, more bool, err error)
}

// NewList makes a list of the batches that next returns. more reports whether another may follow, even an empty one.
func NewList[T any](next func(ctx context.Context) (batch []T, more bool, err error)) List[T] {
	return List[T]{next: next}
}

// ListOf is a list of elements in memory.
func ListOf[T any](elements []T) List[T] {
	return NewList(func(context.Context) ([]T, bool, error) { return elements, false, nil })
}

// showBatch is how many elements of a list by Show are made at a time.
const showBatch = 64

// Show is a list of items in memory that show converts, showBatch at a time.
func Show[S, T any](items []S, show func(*S) T) List[T] {
	return NewList(func(context.Context) ([]T, bool, error) {
		part := items[:min(showBatch, len(items))]
		items = items[len(part):]
		shown := make([]T, 0, len(part))
		for i := range part {
			shown = append(shown, show(&part[i]))
		}
		return shown, len(items) > 0, nil
	})
}

// Append returns the list with more elements at its end.
func (l List[T]) Append(elements ...T) List[T] {
	ended := l.next == nil
	return NewList(func(ctx context.Context) ([]T, bool, error) {
		if ended {
			return elements, false, nil
		}
		batch, more, err := l.next(ctx)
		ended = !more
		return batch, true, err
	})
}

// Schema is the schema of an array.
func (List[T]) Schema(registry huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: registry.Schema(reflect.TypeFor[T](), true, "")}
}

// MarshalJSON fails: only a Reader can read a list.
func (List[T]) MarshalJSON() ([]byte, error) {
	return nil, errors.New("a List can only be encoded by a Reader")
}

// noMarshalers are for elements that contain no other list.
var noMarshalers = new(json.Marshalers)

func (l List[T]) stream(r *Reader, to *jsontext.Encoder) error {
	outer := r.reads
	defer func() { r.reads = outer }()
	if err := to.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	holdsLists := isStreamed(reflect.TypeFor[T]())
	options := []json.Options{json.WithMarshalers(noMarshalers)} // faster
	if holdsLists {
		options = nil
	}
	for more := l.next != nil; more; {
		var batch []T // declared here, so that the previous batch can be freed while this one is read
		var err error
		if batch, more, err = l.next(r.ctx); err != nil {
			return err
		}
		r.reads = outer || more || holdsLists
		for i := range batch {
			if err := json.MarshalEncode(to, &batch[i], options...); err != nil {
				return err
			}
		}
	}
	return to.WriteToken(jsontext.EndArray)
}

// Map is a JSON object whose members are made one by one, while it is sent.
type Map[T any] struct {
	members iter.Seq2[string, T]
}

// NewMap makes an object of members. The iteration begins when the encoding reaches the object.
func NewMap[T any](members iter.Seq2[string, T]) Map[T] { return Map[T]{members: members} }

// Schema is the schema of an object with any members.
func (Map[T]) Schema(registry huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type:                 huma.TypeObject,
		AdditionalProperties: registry.Schema(reflect.TypeFor[T](), true, ""),
	}
}

// MarshalJSON fails: only a Reader encodes members in order.
func (Map[T]) MarshalJSON() ([]byte, error) {
	return nil, errors.New("a Map can only be encoded by a Reader")
}

func (m Map[T]) stream(_ *Reader, to *jsontext.Encoder) error {
	if err := to.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for name, value := range m.members {
		if err := to.WriteToken(jsontext.String(name)); err != nil {
			return err
		}
		if err := json.MarshalEncode(to, value); err != nil {
			return err
		}
	}
	return to.WriteToken(jsontext.EndObject)
}

// Form is a body with several forms, one of which is sent. Its schema describes all.
type Form interface {
	// JSONForm returns the value that is encoded.
	JSONForm() any
}
