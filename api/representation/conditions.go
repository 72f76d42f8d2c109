// Package representation has the rules of HTTP by which a request gets a part of an answer, none of it because
// the client has it already, or a compressed one (RFC 9110, sections 12 to 14).
package representation

import (
	"net/http"
	"strings"
)

// Tag makes the entity tag of content with a hash.
func Tag(hash string) string { return `"` + hash + `"` }

// Precondition returns the status of the answer to a read of what has a tag: 304 if the client has it, 412
// if the client wants another version only, else 200. header gives the fields of the request.
func Precondition(header func(name string) string, tag string) int {
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
