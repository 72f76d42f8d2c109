package pdf

import "attestry/evidence"

// All lengths are in millimetres, sizes of fonts in points.
const (
	pageWidth, pageHeight = 210.0, 297.0

	left, right = 18.0, pageWidth - 18
	top, bottom = 26.0, pageHeight - 20
	bodyWidth   = right - left

	ruleWidth = 0.2 // of the line below a row

	// point is the length of a typographic point.
	point = 25.4 / 72
	// leading is a line's height, baseline its distance from the top, in font sizes.
	leading, baseline = 1.36, 1.02
)

type color struct{ red, green, blue uint8 }

var (
	ink    = color{33, 37, 41}
	gray   = color{98, 106, 115}
	blue   = color{11, 79, 140}
	green  = color{20, 108, 67}
	amber  = color{161, 92, 0}
	red    = color{176, 32, 46}
	rule   = color{205, 211, 217}
	shade  = color{238, 241, 244}
	accent = color{52, 73, 94}
)

type style struct {
	font  font
	size  float64
	color color
}

var (
	body        = style{regular, 9, ink}
	strong      = style{bold, 9, ink}
	small       = style{regular, 7.5, gray}
	smallStrong = style{bold, 7.5, gray}
	digits      = style{monospaced, 6.5, ink} // of fingerprints and SHAs
	longDigits  = style{monospaced, 8, ink}   // where there is room
	columnTitle = style{bold, 7.5, accent}
	heading     = style{bold, 13, accent}
	subheading  = style{bold, 10, accent}
	margin      = style{regular, 7.5, gray} // of the head and foot of pages
	title       = style{bold, 22, ink}
	verdictText = style{bold, 20, ink}
)

func (s style) in(c color) style {
	s.color = c
	return s
}

// height is that of a line.
func (s style) height() float64 { return s.size * point * leading }

// units returns a length in thousandths of the size, the unit of the widths of glyphs.
func (s style) units(length float64) int { return int(length / (s.size * point) * 1000) }

// length returns a width in thousandths of the size in millimetres.
func (s style) length(units int) float64 { return float64(units) * s.size * point / 1000 }

func colorOf(status evidence.Status) color {
	switch status {
	case evidence.Compliant:
		return green
	case evidence.NonCompliant:
		return red
	default:
		return amber
	}
}
