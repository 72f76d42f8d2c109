package view

import "bytes"

const (
	// minWord and maxWord bound the words that get line break opportunities, in bytes of HTML. Shorter ones fit on a
	// phone. Longer ones are not names, and must not make the page much larger.
	minWord, maxWord = 28, 4 << 10
	// minPart is the minimum length between two opportunities in bytes of HTML, hexPart that of hexadecimal digits.
	minPart, hexPart = 8, 12
)

// breakWords inserts <wbr> into the long words of names and texts of clients (bdi and code), at places where people can
// still read them. Browsers break words without <wbr> anywhere.
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

// appendWord appends a word with <wbr> after /, . and -, and after hexPart hexadecimal digits.
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
