// Package representation has the rules of HTTP by which a request gets a part of an answer, none of it because
// the client has it already, or a compressed one (RFC 9110, sections 12 to 14).
package representation

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// Tag makes the entity tag of content with a hash.
func Tag(hash string) string { return `"` + hash + `"` }

// Precondition returns the status of the answer to a read of what has a tag: 304 if the client has it, 412
// if the client wants another version only, else 200, as for what has none. header gives the fields of the request.
func Precondition(header func(name string) string, tag string) int {
	if tag == "" {
		return http.StatusOK
	}
	if wanted := header("If-Match"); wanted != "" && !lists(wanted, tag) {
		return http.StatusPreconditionFailed
	}
	// A weak tag that the client has means the same content, as the tag itself is strong.
	if known := header("If-None-Match"); known != "" && lists(strings.ReplaceAll(known, "W/", ""), tag) {
		return http.StatusNotModified
	}
	return http.StatusOK
}

// lists reports whether a tag is in a list of tags, or the list is of all that there are. Tags of this
// service hold no commas.
func lists(tags, tag string) bool {
	for one := range strings.SplitSeq(tags, ",") {
		if one = strings.TrimSpace(one); one == tag || one == "*" {
			return true
		}
	}
	return false
}

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

// Unsupported says why the body of a request or part is not one that this service reads, "" if it is: it
// must be neither compressed nor text of another charset than UTF-8. header gives the fields of its head.
func Unsupported(header func(name string) string) string {
	coding := strings.TrimSpace(header("Content-Encoding"))
	if coding != "" && !strings.EqualFold(coding, "identity") {
		return "The body must not be compressed: Content-Encoding is not supported"
	}
	// A type that cannot be read has no charset. It does not matter, as operations know what they take.
	_, parameters, _ := mime.ParseMediaType(header("Content-Type"))
	charset := parameters["charset"]
	if charset != "" && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "utf8") {
		return "The body must be UTF-8: no other charset is supported"
	}
	return ""
}
