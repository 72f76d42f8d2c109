package jsontext

import (
	"bytes"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// RepeatedText is the finding on a key that an object has twice.
const RepeatedText = "Invalid JSON: the key is given twice"

// Repeated returns the first key that an object has twice in well-formed JSON, and the path
// to its value; ok is false if there is none. Keys are compared as they are after their
// escapes are undone. Decoders would take the last value, or the first.
func Repeated(data []byte) (path, key string, ok bool) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowInvalidUTF8(true))
	_, err := decoder.ReadValue()
	var fault *jsontext.SyntacticError
	if !errors.Is(err, jsontext.ErrDuplicateName) || !errors.As(err, &fault) {
		return "", "", false
	}
	path, key = Location(data, int(fault.ByteOffset))
	return strings.TrimSuffix(path, ".[key]"), key, true
}
