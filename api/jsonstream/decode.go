package jsonstream

import (
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Decoder decodes JSON piece by piece, as some answers are too large to be held in memory. Its module is the future
// encoding/json/v2 of the standard library, and takes half the time of encoding/json.
type Decoder struct{ text *jsontext.Decoder }

// NewDecoder makes a decoder of JSON that the service has written. It accepts duplicate names and invalid UTF-8, as the
// JSON may contain values of clients unchanged.
func NewDecoder(content io.Reader) *Decoder {
	return &Decoder{jsontext.NewDecoder(content, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
}

// Decode decodes the next value.
func (d *Decoder) Decode(into any) error { return json.UnmarshalDecode(d.text, into) }

// Object decodes an object. members has the target of each member: a pointer, or for an array a function that decodes
// one element. Other members are skipped.
func (d *Decoder) Object(members map[string]any) error {
	return d.EachMember(func(name string) error {
		switch into := members[name].(type) {
		case nil:
			return d.Skip()
		case func() error:
			return d.EachElement(into)
		default:
			return d.Decode(into)
		}
	})
}

// Elements is the target of an array for Object that calls take with each element.
func Elements[T any](d *Decoder, take func(T) error) func() error {
	return func() error {
		var one T
		if err := d.Decode(&one); err != nil {
			return err
		}
		return take(one)
	}
}

// EachMember calls take with the name of each member of an object. take must decode the value.
func (d *Decoder) EachMember(take func(name string) error) error {
	return d.EachElement(func() error {
		name, err := d.text.ReadToken()
		if err != nil {
			return err
		}
		return take(name.String())
	})
}

// Begins reports whether the next value begins with a character: [ for an array, { for an object.
func (d *Decoder) Begins(char byte) bool { return d.text.PeekKind() == jsontext.Kind(char) }

// Skip skips the next value.
func (d *Decoder) Skip() error { return d.text.SkipValue() }

// EachElement calls take to decode each element of an array, or each member of an object.
func (d *Decoder) EachElement(take func() error) error {
	if _, err := d.text.ReadToken(); err != nil {
		return err
	}
	for {
		switch d.text.PeekKind() {
		case 0, ']', '}': // 0 is an error, which ReadToken returns
			_, err := d.text.ReadToken()
			return err
		}
		if err := take(); err != nil {
			return err
		}
	}
}
