package pdf

import "unicode"

// Unicode has glyphs for the forms of Arabic letters within a word, in the block from U+FE80, ordered by
// letter: each has an isolated and a final form, perhaps an initial and a medial one, or only the first.
// These are the counts of U+0621 to U+063A and U+0641 to U+064A.
const (
	arabicForms     = '\uFE80'
	firstArabic     = '\u0621'
	tatweel         = '\u0640'
	formsUntilGhain = "12222424244444222244444444"
	formsFromFeh    = "4444444224"
)

// arabicLetter is a letter's isolated form, which the others follow, and how many there are.
type arabicLetter struct {
	isolated rune
	forms    int
}

var arabicLetters = func() map[rune]arabicLetter {
	letters := map[rune]arabicLetter{}
	char, form := firstArabic, arabicForms
	for _, counts := range []string{formsUntilGhain, formsFromFeh} {
		for _, digit := range counts {
			forms := int(digit - '0')
			letters[char] = arabicLetter{isolated: form, forms: forms}
			char++
			form += rune(forms)
		}
		char = tatweel + 1
	}
	return letters
}()

// joinArabic replaces Arabic letters by their joined forms. Other languages' letters stay isolated.
func joinArabic(chars []rune) []rune {
	joined := chars
	for i, char := range chars {
		letter, ok := arabicLetters[char]
		if !ok {
			continue
		}
		if &joined[0] == &chars[0] {
			joined = append([]rune(nil), chars...)
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

// neighbour is the next character in a direction that is no mark, 0 if there is none.
func neighbour(chars []rune, at, step int) rune {
	for at += step; at >= 0 && at < len(chars); at += step {
		if !unicode.Is(unicode.Mn, chars[at]) {
			return chars[at]
		}
	}
	return 0
}

// connectsForward reports whether a character is joined with the letter behind it.
func connectsForward(char rune) bool { return char == tatweel || arabicLetters[char].forms == 4 }

// connectsBack reports whether a character is joined with the letter before it.
func connectsBack(char rune) bool { return char == tatweel || arabicLetters[char].forms > 1 }
