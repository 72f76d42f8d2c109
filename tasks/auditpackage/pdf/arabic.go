package pdf

import (
	"slices"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	// The block of Unicode with the forms of Arabic letters within words, ordered by letter, and the stroke tatweel.
	firstForm = '\uFE80'
	lastForm  = '\uFEF4'
	tatweel   = '\u0640'
)

// arabicLetter is a letter's isolated form, and how many forms there are from it on: an isolated and a final form,
// perhaps an initial and a medial one, or only the first.
type arabicLetter struct {
	isolated rune
	forms    int
}

// arabicLetters has the letters by their characters. NFKC maps each form to the character of its letter.
var arabicLetters = func() map[rune]arabicLetter {
	letters := map[rune]arabicLetter{}
	for form := firstForm; form <= lastForm; form++ {
		char := []rune(norm.NFKC.String(string(form)))[0]
		letter, ok := letters[char]
		if !ok {
			letter.isolated = form
		}
		letter.forms++
		letters[char] = letter
	}
	return letters
}()

// joinArabic replaces Arabic letters by their joined forms. Other languages' letters stay isolated.
func joinArabic(chars []rune) []rune {
	joined := slices.Clone(chars)
	for i, char := range chars {
		letter, ok := arabicLetters[char]
		if !ok {
			continue
		}
		before := connectsForward(neighbour(chars, i, -1))
		after := letter.forms == 4 && connectsBack(neighbour(chars, i, 1))
		switch {
		case before && after:
			joined[i] = letter.isolated + 3
		case after:
			joined[i] = letter.isolated + 2
		case before && letter.forms > 1:
			joined[i] = letter.isolated + 1
		default:
			joined[i] = letter.isolated
		}
	}
	return joined
}

// neighbour returns the next character in a direction that is not a mark, 0 if there is none.
func neighbour(chars []rune, at, step int) rune {
	for at += step; at >= 0 && at < len(chars); at += step {
		if !unicode.Is(unicode.Mn, chars[at]) {
			return chars[at]
		}
	}
	return 0
}

// connectsForward reports whether a character is joined with the letter after it.
func connectsForward(char rune) bool { return char == tatweel || arabicLetters[char].forms == 4 }

// connectsBack reports whether a character is joined with the letter before it.
func connectsBack(char rune) bool { return char == tatweel || arabicLetters[char].forms > 1 }
