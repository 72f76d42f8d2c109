package jsonstream

import (
	"encoding/json"
	"fmt"
)

// EachMember hands the names of an object's members to take, which decodes their values.
func EachMember(decoder *json.Decoder, take func(name string) error) error {
	return EachElement(decoder, func() error {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		return take(fmt.Sprint(name))
	})
}

// EachElement has take decode what an array or object holds, piece by piece: some are too large to be
// held as a whole.
func EachElement(decoder *json.Decoder, take func() error) error {
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for decoder.More() {
		if err := take(); err != nil {
			return err
		}
	}
	_, err := decoder.Token()
	return err
}

// Skip reads a value that is not needed.
func Skip(decoder *json.Decoder) error {
	var skipped json.RawMessage
	return decoder.Decode(&skipped)
}
