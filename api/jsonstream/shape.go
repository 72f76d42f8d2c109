package jsonstream

import (
	"encoding"
	"encoding/json"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// shape is how the values of a type are encoded.
type shape struct {
	// streamed tells that they are streamed or a Form, or may have such values in them.
	streamed bool
	// divisible tells that they are encoded in pieces: plain structs, and slices of anything larger than numbers and texts.
	divisible bool
	// members are those of a struct that is divisible.
	members []member
}

type member struct {
	name      string
	index     []int
	omitEmpty bool
}

// shapes are those of the types that were met; as many as answers have.
var shapes sync.Map

func shapeOf(t reflect.Type) *shape {
	known, ok := shapes.Load(t)
	if !ok {
		known, _ = shapes.LoadOrStore(t, newShape(t))
	}
	return known.(*shape)
}

func newShape(t reflect.Type) *shape {
	made := &shape{streamed: isStreamed(t)}
	switch {
	case marshals(t):
	case t.Kind() == reflect.Struct:
		made.members, made.divisible = appendMembers(nil, t, nil)
	case t.Kind() == reflect.Slice:
		larger := []reflect.Kind{reflect.Struct, reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface}
		made.divisible = slices.Contains(larger, t.Elem().Kind())
	}
	return made
}

// isStreamed looks at a type within others that have values of it in them.
func isStreamed(t reflect.Type, within ...reflect.Type) bool {
	if t.Implements(reflect.TypeFor[streamed]()) || t.Implements(reflect.TypeFor[Form]()) {
		return true
	}
	if slices.Contains(within, t) {
		return false
	}
	within = append(within, t)
	switch t.Kind() {
	case reflect.Slice:
		return isStreamed(t.Elem(), within...)
	case reflect.Struct:
		for field := range t.Fields() {
			if isStreamed(field.Type, within...) {
				return true
			}
		}
	}
	return false
}

func marshals(t reflect.Type) bool {
	for _, marshaler := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()} {
		if t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
			return true
		}
	}
	return false
}

// appendMembers appends the members of a struct that is found at an index, in their order. plain is false if they are
// not encoded as their tags say: if one hides another, or has an option that is not omitempty.
func appendMembers(members []member, t reflect.Type, at []int) (_ []member, plain bool) {
	for field := range t.Fields() {
		index := slices.Concat(at, field.Index)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported() && !field.Anonymous:
			continue
		case field.Anonymous && name == "":
			if field.Type.Kind() != reflect.Struct || marshals(field.Type) {
				return nil, false
			}
			if members, plain = appendMembers(members, field.Type, index); !plain {
				return nil, false
			}
			continue
		case name == "":
			name = field.Name
		}
		if options != "" && options != "omitempty" || slices.ContainsFunc(members, func(m member) bool { return m.name == name }) {
			return nil, false
		}
		members = append(members, member{name: name, index: index, omitEmpty: options != ""})
	}
	return members, true
}

// membersOf are the names and values of the members of a struct that are encoded.
func (s *shape) membersOf(value reflect.Value) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for _, m := range s.members {
			member := value.FieldByIndex(m.index)
			if m.omitEmpty && isEmpty(member) {
				continue
			}
			if !yield(m.name, member) {
				return
			}
		}
	}
}

// isEmpty reports whether omitempty leaves a value out.
func isEmpty(value reflect.Value) bool {
	switch value.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return value.Len() == 0
	case reflect.Struct:
		return false
	default:
		return value.IsZero()
	}
}
