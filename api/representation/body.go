package representation

import (
	"mime"
	"strings"
)

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
