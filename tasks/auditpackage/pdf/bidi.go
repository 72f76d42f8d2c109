package pdf

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/bidi"
)

// Levels of embedding in a line that runs from left to right.
const (
	leftToRight  = 0
	rightToLeft  = 1
	numberWithin = 2 // a number in text from right to left
	unknownLevel = -1
)

// reorder returns the glyphs of a line in visual order, by the Unicode Bidirectional Algorithm except for numbers (see
// belongs). All lines of a report run from left to right. They have no characters that change the direction: those are
// shown as code points.
func reorder(line []glyph) []glyph {
	if !slices.ContainsFunc(line, func(one glyph) bool { return isRightToLeft(classOf(one)) }) {
		return line
	}
	levels := levelsOf(line)
	ordered := slices.Clone(line)
	for i, one := range ordered {
		if levels[i] == rightToLeft {
			ordered[i].char = mirrored(one.char)
		}
	}
	for level := numberWithin; level >= rightToLeft; level-- {
		reverseFrom(ordered, levels, level)
	}
	return ordered
}

func classOf(one glyph) bidi.Class {
	properties, _ := bidi.LookupRune(one.char)
	return properties.Class()
}

func isRightToLeft(class bidi.Class) bool { return class == bidi.R || class == bidi.AL }

func levelsOf(line []glyph) []int {
	levels := make([]int, len(line))
	within := false // text from right to left
	for i, one := range line {
		levels[i] = unknownLevel
		switch class := classOf(one); {
		case class == bidi.L:
			within = false
			levels[i] = leftToRight
		case isRightToLeft(class):
			within = true
			levels[i] = rightToLeft
		case class == bidi.AN, class == bidi.EN && within && belongs(line, i):
			levels[i] = numberWithin
		case class == bidi.EN:
			within = false
			levels[i] = leftToRight
		case class == bidi.NSM && i > 0:
			levels[i] = levels[i-1]
		}
	}
	joinNumbers(line, levels)
	fillBrackets(line, levels)
	fillNeutral(levels)
	return levels
}

// belongs reports whether a number after right-to-left text is part of it: such text follows, or nothing that ends a
// name is between them. The algorithm makes all such numbers part of it. But reports have names in English sentences,
// whose numbers must not move into the name before.
func belongs(line []glyph, at int) bool {
	next := slices.IndexFunc(line[at:], func(one glyph) bool { return classOf(one) == bidi.L || isRightToLeft(classOf(one)) })
	if next >= 0 && isRightToLeft(classOf(line[at+next])) {
		return true
	}
	for i := at - 1; !isRightToLeft(classOf(line[i])); i-- { // there is one
		class := classOf(line[i])
		separates := (class == bidi.CS || class == bidi.ES) && classOf(line[i+1]) == bidi.EN
		if !separates && class != bidi.EN && class != bidi.NSM && !strings.ContainsRune(" ([#", line[i].char) {
			return false
		}
	}
	return true
}

// fillBrackets gives brackets after right-to-left text its direction, unless left-to-right text is within.
func fillBrackets(line []glyph, levels []int) {
	before := leftToRight
	for start, one := range line {
		if levels[start] != unknownLevel {
			before = levels[start]
			continue
		}
		end := closing(line, start, one.char)
		if end < 0 || before == leftToRight || slices.Contains(levels[start:end], leftToRight) || !slices.Contains(levels[start:end], rightToLeft) {
			continue
		}
		levels[start], levels[end] = rightToLeft, rightToLeft
	}
}

// closing returns where the bracket at a position is closed, -1 if there is none.
func closing(line []glyph, start int, open rune) int {
	if !strings.ContainsRune("([{", open) {
		return -1
	}
	depth := 0
	for i := start; i < len(line); i++ {
		switch line[i].char {
		case open:
			depth++
		case mirrored(open):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// joinNumbers makes a separator between two digits part of the number.
func joinNumbers(line []glyph, levels []int) {
	for i := 1; i+1 < len(line); i++ {
		class := classOf(line[i])
		if (class == bidi.CS || class == bidi.ES) && levels[i-1] == numberWithin && levels[i+1] == numberWithin {
			levels[i] = numberWithin
		}
	}
}

// fillNeutral gives blanks and punctuation the direction of what is on both sides of them, else that of the line.
func fillNeutral(levels []int) {
	for start := 0; start < len(levels); start++ {
		if levels[start] != unknownLevel {
			continue
		}
		end := start
		for end < len(levels) && levels[end] == unknownLevel {
			end++
		}
		level := leftToRight
		if start > 0 && end < len(levels) && levels[start-1] >= rightToLeft && levels[end] >= rightToLeft {
			level = rightToLeft
		}
		for i := start; i < end; i++ {
			levels[i] = level
		}
	}
}

// reverseFrom reverses each sequence of glyphs of at least a level, together with their
// levels. Marks stay after their characters, as fonts draw them over what was drawn before.
func reverseFrom(line []glyph, levels []int, level int) {
	for start := 0; start < len(line); start++ {
		end := start
		for end < len(line) && levels[end] >= level {
			end++
		}
		slices.Reverse(line[start:end])
		slices.Reverse(levels[start:end])
		restoreMarks(line[start:end], levels[start:end])
		start = max(start, end-1)
	}
}

// restoreMarks puts marks, which a reversal has put before their character, after it.
func restoreMarks(line []glyph, levels []int) {
	for start := 0; start < len(line); start++ {
		end := start
		for end < len(line) && classOf(line[end]) == bidi.NSM {
			end++
		}
		if end > start && end < len(line) {
			slices.Reverse(line[start : end+1])
			slices.Reverse(levels[start : end+1])
		}
		start = max(start, end)
	}
}

var mirrors = map[rune]rune{'(': ')', ')': '(', '[': ']', ']': '[', '{': '}', '}': '{', '<': '>', '>': '<', '«': '»', '»': '«'}

func mirrored(char rune) rune { return cmp.Or(mirrors[char], char) }
