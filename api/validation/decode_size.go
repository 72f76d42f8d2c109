package validation

import "bytes"

// What decoding takes up follows less from the length of a body than from how many values
// are in it: three bytes may become a whole struct. The figures are upper bounds of what
// was measured, for bodies of every shape, as the growth of the heap.

// StrictSize is what a body takes up, at most, that is decoded in one strict pass, in
// bytes and without the body itself.
func StrictSize(body []byte) int64 {
	return int64(len(body)) + 200*occurrences(body, "{") + 64*occurrences(body, ",") + 32*occurrences(body, "[")
}

// ParsedSize is what a body takes up, at most, that is parsed and validated by its
// schema, in bytes and without the body itself.
func ParsedSize(body []byte) int64 {
	return 4*int64(len(body)) + 200*occurrences(body, "{") + 160*occurrences(body, ",") + 64*occurrences(body, "[")
}

func occurrences(body []byte, character string) int64 {
	return int64(bytes.Count(body, []byte(character)))
}
