package representation

import (
	"net/http"
	"strconv"
	"strings"
)

// Span is a part of some content; a length of -1 means to an unknown end.
type Span struct {
	Offset, Length int64
	Partial        bool
}

// Part returns the part of content of a size that a request asks for; ok is false if that lies outside of it. A size
// of -1 is not known. Forms that it does not know, several ranges among them, mean the whole, as RFC 9110 allows, and
// so does a range of another version of the content (If-Range).
func Part(method string, header func(name string) string, size int64, tag string) (part Span, ok bool) {
	whole := Span{Length: size}
	unit, ranges, found := strings.Cut(header("Range"), "=")
	version := header("If-Range")
	if method != http.MethodGet || size < 0 || !found || strings.TrimSpace(unit) != "bytes" || version != "" && version != tag {
		return whole, true
	}
	first, last, found := strings.Cut(strings.TrimSpace(ranges), "-")
	if !found {
		return whole, true
	}
	from, fromErr := strconv.ParseUint(first, 10, 63)
	to, toErr := strconv.ParseUint(last, 10, 63)
	switch {
	case first == "" && toErr == nil:
		return within(max(size-int64(to), 0), size-1)
	case fromErr == nil && last == "":
		return within(int64(from), size-1)
	case fromErr == nil && toErr == nil && from <= to:
		return within(int64(from), min(int64(to), size-1))
	default:
		return whole, true
	}
}

func within(first, last int64) (Span, bool) {
	return Span{Offset: first, Length: last - first + 1, Partial: true}, first <= last
}
