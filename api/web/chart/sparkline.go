package chart

import (
	"encoding/xml"
	"fmt"
	"strings"
)

const (
	sparklineWidth  = 240.0
	sparklineHeight = 24.0
	// goodHeight is how high a good time is. Others have the whole height, so that nobody has to tell
	// colors apart.
	goodHeight = 8.0
	// thinnest is how wide even the shortest time is, so that it can be seen.
	thinnest = 1.0
)

// Span is a time between two moments, in Unix seconds.
type Span struct {
	From, To float64
	Good     bool
}

// Sparkline draws a line for the time between two moments, in Unix seconds, and a rectangle for each span.
// The title says the same in words.
func Sparkline(title string, begin, end float64, spans []Span) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" role="img"><title>`,
		sparklineWidth, sparklineHeight, sparklineWidth, sparklineHeight)
	_ = xml.EscapeText(&b, []byte(title)) // a strings.Builder has no errors
	fmt.Fprintf(&b, `</title><rect x="0" y="%g" width="%g" height="1" fill="#8a9099"/>`, sparklineHeight-1, sparklineWidth)
	for _, span := range spans {
		draw(&b, span, begin, end)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

func draw(b *strings.Builder, span Span, begin, end float64) {
	left := sparklineWidth * max(0, span.From-begin) / (end - begin)
	right := sparklineWidth * max(0, span.To-begin) / (end - begin)
	left = min(left, sparklineWidth-thinnest)
	width := min(max(right-left, thinnest), sparklineWidth-left)
	height, color := goodHeight, "#2e9e5b"
	if !span.Good {
		height, color = sparklineHeight, "#d0453a"
	}
	fmt.Fprintf(b, `<rect x="%.2f" y="%g" width="%.2f" height="%g" fill="%s"/>`, left, sparklineHeight-height, width, height, color)
}
