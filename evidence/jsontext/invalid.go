// Package jsontext examines JSON before it is decoded: how deep it nests, and what is not
// Unicode text in it, which encoding/json replaces by U+FFFD without an error.
package jsontext

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Invalid returns the offset of the first part of JSON that is not Unicode text, or -1: a byte that is not UTF-8, or
// half a surrogate pair, such as \ud800. It reports no other fault of the syntax.
func Invalid(data []byte) int {
	isUTF8 := utf8.Valid(data)
	if isUTF8 && !bytes.Contains(data, []byte(`\u`)) {
		return -1
	}
	offset := faultOf(data, jsontext.AllowInvalidUTF8(false))
	if isUTF8 && offset == faultOf(data, jsontext.AllowInvalidUTF8(true)) {
		return -1
	}
	return offset
}

// faultOf returns the offset of the first fault of JSON, or -1.
func faultOf(data []byte, options ...jsontext.Options) int {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(data), append(options, jsontext.AllowDuplicateNames(true))...)
	for {
		if _, err := decoder.ReadValue(); err != nil {
			fault, ok := errors.AsType[*jsontext.SyntacticError](err)
			if !ok {
				return -1 // the end
			}
			return int(fault.ByteOffset)
		}
	}
}

// NestsDeeper reports whether JSON nests deeper than limit, as far as it is well-formed.
func NestsDeeper(data []byte, limit int) bool {
	decoder := newDecoder(data)
	for decoder.StackDepth() <= limit {
		if _, err := decoder.ReadToken(); err != nil {
			return false
		}
	}
	return true
}

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
