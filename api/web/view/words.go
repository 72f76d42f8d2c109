package view

import "bytes"

const (
	// minWord and maxWord are how long a word is that lines end within, in bytes of HTML: shorter ones fit on a telephone,
	// and the page must not grow much by longer ones, which are no names.
	minWord, maxWord = 28, 4 << 10
	// minPart is the least between two such ends, in bytes of HTML, and hexPart how many hexadecimal digits are one part.
	minPart, hexPart = 8, 12
)

// breakWords lets lines end within the long words of names and texts that others have sent, at places where people can
// still read them. Browsers break what has no such place anywhere.
func breakWords(page []byte) []byte {
	broken := make([]byte, 0, len(page)+len(page)/16)
	for i, part := range bytes.SplitAfter(page, []byte("<")) {
		tag, text, _ := bytes.Cut(part, []byte(">"))
		if i == 0 || !bytes.HasPrefix(tag, []byte("bdi")) && !bytes.HasPrefix(tag, []byte("code")) {
			broken = append(broken, part...)
			continue
		}
		broken = append(append(broken, tag...), '>')
		for word := range bytes.SplitAfterSeq(text, []byte(" ")) {
			broken = appendWord(broken, word)
		}
	}
	return broken
}

// appendWord appends a word. A line may end behind /, . and -, and behind so many hexadecimal digits.
func appendWord(to, word []byte) []byte {
	if len(word) < minWord || len(word) > maxWord {
		return append(to, word...)
	}
	size, digits := 0, 0
	for _, c := range word {
		to = append(to, c)
		size++
		if digits++; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			digits = 0
		}
		if digits == hexPart || size >= minPart && (c == '/' || c == '.' || c == '-') {
			to = append(to, "<wbr>"...)
			size, digits = 0, 0
		}
	}
	return to
}
