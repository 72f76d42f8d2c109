package evidence

import (
	"fmt"
	"unicode/utf8"
)

// Text is a text that may be nil, which stands for "".
func Text(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// Equal reports whether two values, each of which may be nil, are equal.
func Equal[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// Assign sets a member to a value that was sent, nil if it was not.
func Assign[T any](member, sent *T) {
	if sent != nil {
		*member = *sent
	}
}

// Count words a number of things: "1 test", "2 tests".
func Count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Verdict words whether something is compliant.
func Verdict(compliant bool) string {
	if compliant {
		return "compliant"
	}
	return "non-compliant"
}

// ShortenTo cuts a text of more than so many characters to that number, the last of which is then an ellipsis.
func ShortenTo(text string, characters int) string {
	if all := []rune(text); len(all) > characters {
		return string(all[:characters-1]) + "…"
	}
	return text
}

// Shorten cuts a text of more than so many bytes, never within a character, and adds an ellipsis. What it returns shares
// no memory with a longer text.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}
