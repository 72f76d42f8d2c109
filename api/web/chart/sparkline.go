// Package chart computes axes and draws sparklines as SVG.
package chart

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"

	"attestry/evidence"
)

const (
	// sparklineColumns is the number of columns of a sparkline, each 1 wide.
	sparklineColumns = 240
	sparklineHeight  = 24
)

// Verdict is the verdict of a span. If spans share a column, the greatest verdict is drawn.
type Verdict int

// The verdicts, the worst last.
const (
	Compliant Verdict = iota + 1
	NotJudged
	NotCompliant
)

// looks differ in height as well, for people who cannot distinguish the colors.
var looks = map[Verdict]struct {
	height int
	color  string
}{
	Compliant: {8, "#2e9e5b"}, NotJudged: {3, "#8a9099"}, NotCompliant: {sparklineHeight, "#d0453a"},
}

// Span is a period with one verdict, in Unix seconds.
type Span struct {
	From, To float64
	Verdict  Verdict
}

// Sparkline draws the verdicts of spans between two times, in Unix seconds. Neighboring columns with one verdict are
// one rectangle, so that the size of the SVG does not depend on the number of spans. title is the drawing in words.
func Sparkline(title string, begin, end float64, spans []Span) []byte {
	var columns [sparklineColumns]Verdict
	axis := Axis{From: begin, To: end}
	for _, span := range spans {
		first := min(axis.fraction(span.From)*sparklineColumns, sparklineColumns-1)
		stop := max(math.Ceil(axis.fraction(span.To)*sparklineColumns), math.Floor(first)+1)
		for x := int(first); x < int(stop); x++ {
			columns[x] = max(columns[x], span.Verdict)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img"><title>`,
		sparklineColumns, sparklineHeight, sparklineColumns, sparklineHeight)
	_ = xml.EscapeText(&b, []byte(title)) // a strings.Builder has no errors
	fmt.Fprintf(&b, `</title><rect x="0" y="%d" width="%d" height="1" fill="#8a9099"/>`, sparklineHeight-1, sparklineColumns)
	for from := 0; from < sparklineColumns; {
		to := from + 1
		for to < sparklineColumns && columns[to] == columns[from] {
			to++
		}
		if look, ok := looks[columns[from]]; ok {
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`, from, sparklineHeight-look.height, to-from, look.height, look.color)
		}
		from = to
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// Words describes a sparkline of the last 30 days. If there are limit spans, there may be more snapshots.
func Words(environment string, spans []Span, limit int) string {
	if len(spans) == 0 {
		return "No snapshots of " + environment + " in the last 30 days"
	}
	count := map[Verdict]int{}
	for _, span := range spans {
		count[span.Verdict]++
	}
	of := evidence.Count(len(spans), "snapshot")
	if len(spans) == limit {
		of = fmt.Sprintf("the newest %d snapshots", limit)
	}
	text := fmt.Sprintf("%s in the last 30 days: %s, %d not compliant", environment, of, count[NotCompliant])
	if n := count[NotJudged]; n > 0 {
		text += fmt.Sprintf(", %d not judged", n)
	}
	return text
}
