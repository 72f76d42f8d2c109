package docs

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
)

var (
	inlineScript = regexp.MustCompile(`(?s)<script>(.*?)</script>`)
	inlineStyle  = regexp.MustCompile(`(?s)<style>(.*?)</style>`)
)

// policy allows what the page needs and nothing else: files and requests of its
// own origin, and the scripts and styles that stand in the page itself, by their
// hashes.
func policy(html []byte) string {
	return strings.Join([]string{
		"default-src 'none'",
		"script-src 'self'" + hashes(inlineScript, html),
		"style-src 'self'" + hashes(inlineStyle, html),
		// The style sheet holds its icons as data.
		"img-src 'self' data:",
		"connect-src 'self'",
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors 'none'",
	}, "; ")
}

func hashes(inline *regexp.Regexp, html []byte) string {
	var b strings.Builder
	for _, match := range inline.FindAllSubmatch(html, -1) {
		sum := sha256.Sum256(match[1])
		b.WriteString(" 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'")
	}
	return b.String()
}
