package notify

import (
	"net/url"
	"strings"
	"unicode"

	"attestry/evidence"
)

const (
	// maxText bounds each text of a message, in characters.
	maxText = 500
	// maxLink bounds the URL of a link, in bytes, with & escaped.
	maxLink = 1500
)

// plain makes one line of at most maxText characters of an untrusted text. It replaces control characters by spaces,
// and removes bidirectional control characters, which could make a name look like another one.
func plain(text string) string {
	cleaned := strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		case unicode.IsControl(r), unicode.In(r, unicode.Zl, unicode.Zp):
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return evidence.ShortenTo(strings.Join(strings.Fields(cleaned), " "), maxText)
}

// webLink returns an http or https address as a link, or "" for others and long ones: javascript: could do harm.
func webLink(address string) string {
	u, err := url.Parse(address)
	if err != nil || !callable(u) {
		return ""
	}
	// Escape the characters that end a link in chats.
	link := strings.NewReplacer("|", "%7C", "<", "%3C", ">", "%3E", `"`, "%22", " ", "%20", "`", "%60").Replace(u.String())
	if len(link)+4*strings.Count(link, "&") > maxLink || strings.ContainsFunc(link, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return link
}

// withoutMarks replaces the marks of bold, italic, struck and preformatted text by their full-width forms. Slack has no
// escape for them, and zero-width characters do not disable them. An underscore within a word formats nothing, so it
// stays.
func withoutMarks(text string) string {
	wide := strings.NewReplacer("*", "\uFF0A", "_", "\uFF3F", "~", "\uFF5E", "`", "\uFF40")
	var b strings.Builder
	for i := range len(text) {
		if text[i] == '_' && i > 0 && i+1 < len(text) && isWord(text[i-1]) && isWord(text[i+1]) {
			b.WriteByte('_')
			continue
		}
		b.WriteString(wide.Replace(text[i : i+1]))
	}
	return b.String()
}

func isWord(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' }
