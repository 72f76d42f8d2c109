// Package representation is content negotiation, conditional and range requests of HTTP (RFC 9110, 12 to 14).
package representation

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// Tag returns the entity tag of content with a hash.
func Tag(hash string) string { return `"` + hash + `"` }

// Precondition returns the status of the response to a read of content with a tag: 304 if the client has this version,
// 412 if the client accepts only other versions, else 200. It is 200 if tag is empty. header returns a request header.
func Precondition(header func(name string) string, tag string) int {
	if tag == "" {
		return http.StatusOK
	}
	if wanted := header("If-Match"); wanted != "" && !matchesAny(wanted, tag) {
		return http.StatusPreconditionFailed
	}
	// If-None-Match uses the weak comparison, which ignores W/.
	if known := header("If-None-Match"); known != "" && matchesAny(strings.ReplaceAll(known, "W/", ""), tag) {
		return http.StatusNotModified
	}
	return http.StatusOK
}

// matchesAny reports whether a list of tags has the tag or *. Tags of this service have no commas.
func matchesAny(tags, tag string) bool {
	for one := range strings.SplitSeq(tags, ",") {
		if one = strings.TrimSpace(one); one == tag || one == "*" {
			return true
		}
	}
	return false
}

// Span is a range of content. A length of -1 means that the end is unknown.
type Span struct {
	Offset, Length int64
	Partial        bool
}

// Part returns the range of a request in content of a size, -1 for an unknown one; ok is false if the range is not
// satisfiable. Unsupported forms, such as several ranges, mean the whole content, as RFC 9110 allows. So does a range
// of another version (If-Range).
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
		return partial(max(size-int64(to), 0), size-1)
	case fromErr == nil && last == "":
		return partial(int64(from), size-1)
	case fromErr == nil && toErr == nil && from <= to:
		return partial(int64(from), min(int64(to), size-1))
	default:
		return whole, true
	}
}

func partial(first, last int64) (Span, bool) {
	return Span{Offset: first, Length: last - first + 1, Partial: true}, first <= last
}

// Unsupported returns why this service does not read the body of a request or part, "" if it does. The body must not be
// compressed, nor have another charset than UTF-8. header returns one of its headers.
func Unsupported(header func(name string) string) string {
	coding := strings.TrimSpace(header("Content-Encoding"))
	if coding != "" && !strings.EqualFold(coding, "identity") {
		return "The body must not be compressed: Content-Encoding is not supported"
	}
	// A Content-Type that cannot be parsed has no charset. Operations that need a media type check it.
	_, parameters, _ := mime.ParseMediaType(header("Content-Type"))
	charset := parameters["charset"]
	if charset != "" && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "utf8") {
		return "The body must be UTF-8: no other charset is supported"
	}
	return ""
}
