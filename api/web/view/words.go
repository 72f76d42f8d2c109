package view

import (
	"bytes"
	"regexp"
)

var (
	// longWord is a word that may be wider than a telephone or a column, as HTML.
	longWord = regexp.MustCompile(`[^\s]{28,}`)
	// breakable is what a line may end behind within such a word.
	breakable = regexp.MustCompile(`[0-9a-f]{12}|[^\s]{7}[/.\-]`)
)

// maxWord is how long a word is that lines end within, in bytes of HTML: it bounds what the page grows by.
const maxWord = 4 << 10

// breakWords lets lines end within the long words of names and texts that others have sent, at places where people can
// still read them. Browsers break what has no such place anywhere.
func breakWords(page []byte) []byte {
	broken := make([]byte, 0, len(page)+len(page)/16)
	for i, part := range bytes.SplitAfter(page, []byte("<")) {
		tag, text, _ := bytes.Cut(part, []byte(">"))
		if i > 0 && (bytes.HasPrefix(tag, []byte("bdi")) || bytes.HasPrefix(tag, []byte("code"))) {
			broken = append(append(broken, tag...), '>')
			part = longWord.ReplaceAllFunc(text, func(word []byte) []byte {
				if len(word) > maxWord {
					return word
				}
				return breakable.ReplaceAll(word, []byte("$0<wbr>"))
			})
		}
		broken = append(broken, part...)
	}
	return broken
}
