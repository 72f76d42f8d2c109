package evidence

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// ZeroIfNil returns the value of a pointer, zero for nil.
func ZeroIfNil[T any](value *T) (zero T) {
	if value == nil {
		return zero
	}
	return *value
}

// Equal reports whether two values, each of which may be nil, are equal.
func Equal[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// Assign sets a member to a value, unless that is nil because it was not sent.
func Assign[T any](member, sent *T) {
	if sent != nil {
		*member = *sent
	}
}

// Count formats a number with a noun: "1 test", "2 tests".
func Count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Verdict returns "compliant" or "non-compliant".
func Verdict(compliant bool) string { return strings.ToLower(string(StatusOf(compliant))) }

// Judged returns one of three values for a verdict, which is nil if it is not known.
func Judged[T any](verdict *bool, unknown, compliant, nonCompliant T) T {
	switch {
	case verdict == nil:
		return unknown
	case *verdict:
		return compliant
	}
	return nonCompliant
}

// ShortenTo cuts a longer text to a number of characters, the last of which is an ellipsis.
func ShortenTo(text string, characters int) string {
	if all := []rune(text); len(all) > characters {
		return string(all[:characters-1]) + "…"
	}
	return text
}

// Shorten cuts a text of more than most bytes, never within a character, and adds an ellipsis. A shortened text shares
// no memory with the original.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// ContainsFold reports whether a text contains a part in any letter case, as searches of names do.
func ContainsFold(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}
