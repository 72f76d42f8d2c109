package pdf

type sheet struct {
	boxes []box
	texts []placedText
}

// placedText is a text in one font, which begins at the left end of its baseline.
type placedText struct {
	x, y  float64
	text  string
	font  font
	size  float64
	color color
	width float64
}

type box struct {
	x, y, width, height float64
	color               color
}

// bookmark is an entry of the list of contents that viewers show.
type bookmark struct {
	title string
	page  int // 1, 2, 3, …
	y     float64
}

// print places a line with its upper left corner.
func (s *sheet) print(x, y float64, line []run, style style) {
	for _, part := range line {
		width := style.length(part.width)
		s.texts = append(s.texts, placedText{
			x: x, y: y + baseline*style.size*point, text: part.text,
			font: part.font, size: style.size, color: style.color, width: width,
		})
		x += width
	}
}

// printLine places the beginning of a text that fits into a width, in one line.
func (s *sheet) printLine(x, y, width float64, text string, style style) {
	s.print(x, y, runs(cutTo(style.font.glyphs(text), style.units(width), style.font)), style)
}

// printRight places a short text whose right end is given.
func (s *sheet) printRight(x, y float64, text string, style style) {
	glyphs := style.font.glyphs(text)
	s.print(x-style.length(widthOf(glyphs)), y, runs(glyphs), style)
}
