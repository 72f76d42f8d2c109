package pdf

import "attestry/evidence"

// layout places the content of a report on sheets.
type layout struct {
	sheets    []*sheet
	bookmarks []bookmark
	y         float64 // where the next thing is placed on the last sheet
	sections  int
	// pending is what is placed together with what follows it.
	pending []leadingLines
}

type leadingLines struct {
	lines []textLine
	// title is that of the bookmark, "" for none.
	title string
	// above and below are left free.
	above, below float64
}

func (h *leadingLines) height() float64 { return h.above + heightOf(h.lines) + h.below }

// paragraph is a text in one style, which is broken into lines as wide as there is room.
type paragraph struct {
	text  string
	style style
	// space is left free above the paragraph unless it is the first.
	space float64
}

type textLine struct {
	runs  []run
	style style
	space float64 // above
}

func (l textLine) height() float64 { return l.space + l.style.height() }

// maxLines is how many lines of a paragraph are shown: texts may have any number.
const maxLines = 120

// lines breaks paragraphs into lines of at most a width. Those without text have none.
func lines(paragraphs []paragraph, width float64) []textLine {
	var all []textLine
	for _, one := range paragraphs {
		if one.text == "" {
			continue
		}
		space := one.space
		if len(all) == 0 {
			space = 0
		}
		wrapped := wrap(one.style.font.glyphs(one.text), one.style.units(width))
		if len(wrapped) > maxLines {
			wrapped = append(wrapped[:maxLines], one.style.font.glyphs("[…]"))
		}
		for _, glyphs := range wrapped {
			all = append(all, textLine{runs: runs(glyphs), style: one.style, space: space})
			space = 0
		}
	}
	return all
}

func heightOf(lines []textLine) float64 {
	height := 0.0
	for _, line := range lines {
		height += line.height()
	}
	return height
}

// sheet is the last one.
func (l *layout) sheet() *sheet { return l.sheets[len(l.sheets)-1] }

func (l *layout) newSheet() {
	l.sheets = append(l.sheets, new(sheet))
	l.y = top
}

// need makes room for a height, on a new page if need be, and places what is pending.
func (l *layout) need(height float64) {
	for i := range l.pending {
		height += l.pending[i].height()
	}
	if l.y+height > bottom && l.y > top {
		l.newSheet()
	}
	for i := range l.pending {
		l.placeLeading(&l.pending[i])
	}
	l.pending = nil
}

func (l *layout) placeLeading(h *leadingLines) {
	if l.y > top {
		l.y += h.above
	}
	if h.title != "" {
		l.bookmarks = append(l.bookmarks, bookmark{title: h.title, page: len(l.sheets), y: l.y})
	}
	l.place(left, h.lines)
	l.y += h.below
}

// place places lines at the current height, and goes on below them.
func (l *layout) place(x float64, lines []textLine) {
	for _, line := range lines {
		l.y += line.space
		l.sheet().print(x, l.y, line.runs, line.style)
		l.y += line.style.height()
	}
}

func (l *layout) print(paragraphs ...paragraph) {
	for _, line := range lines(paragraphs, bodyWidth) {
		l.need(line.height())
		l.place(left, []textLine{line})
	}
}

// section begins a numbered section.
func (l *layout) section(name string) {
	l.sections++
	name = decimal(l.sections) + "  " + name
	l.lead(name, heading, leadingLines{title: name, above: 9, below: 2.5})
}

func (l *layout) subsection(name string) {
	l.lead(name, subheading, leadingLines{above: 4, below: 1.5})
}

// introduce places a remark on what follows.
func (l *layout) introduce(text string) { l.lead(text, body, leadingLines{below: 2}) }

// lead places a text together with what follows it.
func (l *layout) lead(text string, s style, h leadingLines) {
	h.lines = lines([]paragraph{{text: text, style: s}}, bodyWidth)
	l.pending = append(l.pending, h)
}

// note places a short remark, with room below it.
func (l *layout) note(text string) {
	broken := lines([]paragraph{{text: text, style: body}}, bodyWidth)
	l.need(heightOf(broken))
	l.place(left, broken)
	l.y += 2
}

// omitted places a note that there are more things than are shown.
func (l *layout) omitted(more int, noun string) {
	if more > 0 {
		l.note("This report leaves out " + evidence.Count(more, noun) + ". The package has all of them.")
	}
}
