package jsonstream

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// member is a member of an object that is sent.
type member struct {
	name  string
	value reflect.Value
}

// object is a struct whose members are encoded one by one.
type object struct {
	members []member
	begun   bool
}

func (o *object) step(r *Reader) (bool, error) {
	if len(o.members) == 0 {
		if !o.begun {
			r.text.WriteByte('{')
		}
		r.text.WriteByte('}')
		return true, nil
	}
	r.text.WriteByte(delimiter(&o.begun, '{'))
	if err := r.encode(reflect.ValueOf(o.members[0].name)); err != nil {
		return false, err
	}
	r.text.WriteByte(':')
	r.frames = append(r.frames, &pending{o.members[0].value})
	o.members = o.members[1:]
	return false, nil
}

func (o *object) reads(r *Reader) bool {
	return slices.ContainsFunc(o.members, func(m member) bool { return r.holdsList(m.value.Type()) })
}

// delimiter is the character before an element: opens before the first one, a comma before the others.
func delimiter(begun *bool, opens byte) byte {
	if *begun {
		return ','
	}
	*begun = true
	return opens
}

// array is a slice whose elements are encoded one by one.
type array struct {
	elements reflect.Value
	place    int
	begun    bool
}

func (a *array) step(r *Reader) (bool, error) {
	if a.place == a.elements.Len() {
		if !a.begun {
			r.text.WriteByte('[')
		}
		r.text.WriteByte(']')
		return true, nil
	}
	r.text.WriteByte(delimiter(&a.begun, '['))
	a.place++
	return false, r.element(a.elements.Index(a.place - 1))
}

func (a *array) reads(r *Reader) bool {
	return a.place < a.elements.Len() && r.holdsList(a.elements.Type().Elem())
}

// element encodes an element of an array, as a whole unless it has lists of its own.
func (r *Reader) element(value reflect.Value) error {
	if r.holdsList(value.Type()) {
		r.frames = append(r.frames, &pending{value})
		return nil
	}
	return r.encode(value)
}

// list is a List whose batches are read and encoded in turn.
type list struct {
	lister
	batch array
	more  bool
}

func (l *list) step(r *Reader) (bool, error) {
	if l.batch.elements.IsValid() && l.batch.place < l.batch.elements.Len() {
		return l.batch.step(r)
	}
	if !l.more {
		if !l.batch.begun {
			r.text.WriteByte('[')
		}
		r.text.WriteByte(']')
		return true, nil
	}
	var err error
	l.batch.elements = reflect.Value{} // not held while the next batch is read
	l.batch.place = 0
	l.batch.elements, l.more, err = l.lister.batch(r.ctx)
	return false, err
}

func (l *list) reads(r *Reader) bool {
	return l.more || l.batch.elements.IsValid() && l.batch.reads(r)
}

// membersOf lists the members of a struct as encoding/json does, for structs that are
// divisible.
func membersOf(value reflect.Value) []member {
	var members []member
	for i := range value.NumField() {
		field := value.Type().Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported() && !field.Anonymous:
		case field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct:
			members = append(members, membersOf(value.Field(i))...)
		case options == "omitempty" && isEmpty(value.Field(i)):
		default:
			if name == "" {
				name = field.Name
			}
			members = append(members, member{name: name, value: value.Field(i)})
		}
	}
	return members
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

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()

	// specialTypes are the types that pending encodes in their own way.
	specialTypes = []reflect.Type{
		reflect.TypeFor[lister](), reflect.TypeFor[mapper](), reflect.TypeFor[deferred](), reflect.TypeFor[Form](),
	}
)

// divisible reports whether a value of the type is encoded member by member, or element by
// element: a plain struct, and a slice of anything larger than numbers and texts.
func divisible(t reflect.Type) bool {
	if marshals(t) {
		return false
	}
	switch t.Kind() {
	case reflect.Struct:
		return plain(t)
	case reflect.Slice:
		switch t.Elem().Kind() {
		case reflect.Struct, reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
			return true
		}
	}
	return false
}

func marshals(t reflect.Type) bool {
	for _, marshaler := range []reflect.Type{jsonMarshaler, textMarshaler} {
		if t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
			return true
		}
	}
	return false
}

// plain reports whether membersOf encodes a struct as its tags say: no member hides
// another, and no option but omitempty is used.
func plain(t reflect.Type) bool {
	names := map[string]bool{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
			continue
		case options != "" && options != "omitempty":
			return false
		case field.Anonymous && name == "":
			if field.Type.Kind() != reflect.Struct || marshals(field.Type) || !plain(field.Type) {
				return false
			}
			for _, inner := range reflect.VisibleFields(field.Type) {
				name, _, _ := strings.Cut(inner.Tag.Get("json"), ",")
				if names[name] {
					return false
				}
				names[name] = true
			}
			continue
		case !field.IsExported():
			continue
		}
		if names[name] {
			return false
		}
		names[name] = true
	}
	return true
}

// holdsList reports whether values of a type may contain lists that are read while they are sent.
func (r *Reader) holdsList(t reflect.Type) bool {
	holds, known := r.open[t]
	if !known {
		r.open[t] = false // for a type that has itself in it
		holds = r.mayHoldList(t)
		r.open[t] = holds
	}
	return holds
}

func (r *Reader) mayHoldList(t reflect.Type) bool {
	for _, special := range specialTypes {
		if t.Implements(special) {
			return true
		}
	}
	switch {
	case !divisible(t):
		return false
	case t.Kind() == reflect.Slice:
		return r.holdsList(t.Elem())
	}
	for i := range t.NumField() {
		if r.holdsList(t.Field(i).Type) {
			return true
		}
	}
	return false
}
