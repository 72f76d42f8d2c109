// Package jsontext examines JSON before it is decoded: how deep it nests, and what is not
// Unicode text in it, which encoding/json replaces by U+FFFD without an error.
package jsontext

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// escapedUnit is the length of an escaped UTF-16 code unit in JSON, such as \u00e9.
const escapedUnit = 6

// Invalid returns the offset of the first part of JSON that is not Unicode text, or -1: a byte that is not UTF-8, or
// half a surrogate pair, such as \ud800. It checks no other syntax.
func Invalid(data []byte) int {
	if utf8.Valid(data) && !bytes.Contains(data, []byte(`\u`)) {
		return -1
	}
	for i := 0; i < len(data); {
		switch c := data[i]; {
		case c == '\\':
			n := escapeLength(data[i:])
			if n == 0 {
				return i
			}
			i += n
		case c < utf8.RuneSelf:
			i++
		default:
			r, size := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && size == 1 {
				return i
			}
			i += size
		}
	}
	return -1
}

// escapeLength returns the length of the first escape, 0 for half a surrogate pair.
func escapeLength(data []byte) int {
	unit, ok := codeUnit(data)
	switch {
	case !ok:
		return 2
	case !utf16.IsSurrogate(unit):
		return escapedUnit
	}
	other, ok := codeUnit(data[escapedUnit:])
	if !ok || utf16.DecodeRune(unit, other) == unicode.ReplacementChar {
		return 0
	}
	return 2 * escapedUnit
}

// codeUnit reads the escaped UTF-16 code unit that data begins with.
func codeUnit(data []byte) (rune, bool) {
	if len(data) < escapedUnit || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(data[2:escapedUnit]), 16, 16)
	return rune(unit), err == nil
}

// NestsDeeper reports whether JSON nests deeper than limit, by brackets outside strings.
func NestsDeeper(data []byte, limit int) bool {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = closingQuote(data, i)
		case '{', '[':
			if depth++; depth > limit {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// closingQuote returns where the string ends that begins at i, or the end of data.
func closingQuote(data []byte, i int) int {
	for {
		length := bytes.IndexByte(data[i+1:], '"')
		if length < 0 {
			return len(data)
		}
		i += 1 + length
		if escapes := len(data[:i]) - len(bytes.TrimRight(data[:i], `\\`)); escapes%2 == 0 {
			return i
		}
	}
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
