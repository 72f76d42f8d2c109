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
	// maxLink is the longest address that is made a link, in bytes, with & escaped.
	maxLink = 1500
)

// plain makes one line of a text that clients chose: control characters become blanks, and characters that change the
// direction of writing, which could make a name look like another one, are removed.
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

// webLink returns an address that can be a link, or "": javascript: and others could do harm.
func webLink(address string) string {
	u, err := url.Parse(address)
	if err != nil || !callable(u) {
		return ""
	}
	// What chats take for the end of a link.
	link := strings.NewReplacer("|", "%7C", "<", "%3C", ">", "%3E", `"`, "%22", " ", "%20", "`", "%60").Replace(u.String())
	if len(link)+4*strings.Count(link, "&") > maxLink || strings.ContainsFunc(link, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return link
}
