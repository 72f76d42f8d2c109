package pdf

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// glyph is a character of a text in the font that shows it.
type glyph struct {
	char  rune
	font  font
	width int // thousandths of the size
}

// run is a part of a line in one font, in the order in which it is read from the left.
type run struct {
	text  string
	font  font
	width int // thousandths of the size
}

// glyphs returns the glyphs of a text that is set in f; line breaks are '\n'. Characters without a glyph in any font,
// and invisible ones, such as control characters and changes of the writing direction, are shown as their code points.
//
// reorder puts texts in Hebrew and Arabic in visual order. The fonts do not have other scripts that form glyphs from
// several characters, such as Devanagari.
func (f font) glyphs(text string) []glyph {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	chars := joinArabic([]rune(text)) // with U+FFFD for invalid UTF-8
	shown := make([]glyph, 0, len(chars))
	for _, char := range chars {
		switch char {
		case '\u2028', '\u2029':
			char = '\n'
		case '\t':
			char = ' '
		}
		if char == '\n' {
			shown = append(shown, glyph{char: char})
			continue
		}
		one, ok := f.glyphOf(char)
		if ok && !unicode.In(char, unicode.C, unicode.Variation_Selector) {
			shown = append(shown, one)
			continue
		}
		for _, digit := range fmt.Sprintf(`\u{%X}`, char) {
			one, _ := f.glyphOf(digit)
			shown = append(shown, one)
		}
	}
	return shown
}

// wrap breaks glyphs into lines of at most a width, at blanks or within long words.
func wrap(glyphs []glyph, most int) [][]glyph {
	var lines [][]glyph
	start, opportunity, width := 0, 0, 0
	for i, one := range glyphs {
		if one.char == '\n' {
			lines = append(lines, trim(glyphs[start:i]))
			start, width = i+1, 0
			continue
		}
		for width+one.width > most && i > start && one.char != ' ' {
			end := opportunity
			if end <= start {
				end = markedStart(glyphs, start, i)
			}
			lines = append(lines, trim(glyphs[start:end]))
			start, width = end, widthOf(glyphs[end:i])
		}
		width += one.width
		if breaksAfter(glyphs, i) {
			opportunity = i + 1
		}
	}
	return append(lines, trim(glyphs[start:]))
}

// markedStart returns where a word between start and end can be broken without separating marks from their character.
func markedStart(glyphs []glyph, start, end int) int {
	at := end
	for at > start+1 && unicode.Is(unicode.M, glyphs[at].char) {
		at--
	}
	if at == start+1 && unicode.Is(unicode.M, glyphs[at].char) {
		return end
	}
	return at
}

// unbreakable are characters that no line begins with.
const unbreakable = "、。，．・：；！？）」』】〕〉》ー々"

func breaksAfter(glyphs []glyph, at int) bool {
	switch glyphs[at].char {
	case ' ', '\u3000':
		return true
	case '-', '/':
		return at > 0 && at+1 < len(glyphs) && !unicode.Is(unicode.M, glyphs[at+1].char)
	}
	if at+1 == len(glyphs) || strings.ContainsRune(unbreakable, glyphs[at+1].char) {
		return false
	}
	return unicode.In(glyphs[at].char, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// trim removes the blanks at the end of a line.
func trim(line []glyph) []glyph {
	for len(line) > 0 && line[len(line)-1].char == ' ' {
		line = line[:len(line)-1]
	}
	return line
}

// cutTo replaces the end of the glyphs of one line that are wider than most by "…".
func cutTo(glyphs []glyph, most int, f font) []glyph {
	glyphs = slices.DeleteFunc(glyphs, func(one glyph) bool { return one.char == '\n' })
	if widthOf(glyphs) <= most {
		return glyphs
	}
	dots, _ := f.glyphOf('…')
	for len(glyphs) > 0 && widthOf(glyphs)+dots.width > most {
		glyphs = glyphs[:len(glyphs)-1]
	}
	return append(glyphs, dots)
}

func widthOf(glyphs []glyph) int {
	width := 0
	for _, one := range glyphs {
		width += one.width
	}
	return width
}

// runs puts the glyphs of a line in order from the left and joins those of one font.
func runs(line []glyph) []run {
	var all []run
	var text []rune
	width := 0
	line = reorder(line)
	for i, one := range line {
		text = append(text, one.char)
		width += one.width
		if i+1 == len(line) || line[i+1].font != one.font {
			all = append(all, run{text: string(text), font: one.font, width: width})
			text, width = text[:0], 0
		}
	}
	return all
}
