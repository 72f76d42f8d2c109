// Package jsontext checks JSON before it is decoded: its nesting, repeated keys, and invalid Unicode, which
// encoding/json replaces by U+FFFD without an error.
package jsontext

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Invalid returns the offset of the first invalid Unicode in JSON, or -1: a byte that is not UTF-8, or half a surrogate
// pair, such as \ud800. It reports no other syntax errors.
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

// faultOf returns the offset of the first syntax error, or -1.
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

// NestsDeeper reports whether JSON nests deeper than limit before its first syntax error.
func NestsDeeper(data []byte, limit int) bool {
	decoder := newDecoder(data)
	for decoder.StackDepth() <= limit {
		if _, err := decoder.ReadToken(); err != nil {
			return false
		}
	}
	return true
}

// RepeatedText is the finding for a repeated key.
const RepeatedText = "Invalid JSON: the key is given twice"

// Repeated returns the first repeated key of an object in well-formed JSON, and the path to its value; ok is false if
// there is none. Keys are compared with their escapes decoded. Decoders differ in which of the values they use.
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
