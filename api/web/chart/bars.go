// Package chart draws what pages show as SVG.
package chart

import (
	"bytes"
	_ "embed"
	"html/template"
	"math"
	"net/url"
	"strconv"
	"time"
)

const (
	// headroom is how high a chart is, in heights of its highest bar.
	headroom = 1.1

	// The bars are drawn between these coordinates of bars.svg.
	barsLeft, barsRight = 20.0, 452.0
	barsTop, barsBottom = 20.0, 200.0
	maxBarWidth         = 50.0
)

//go:embed bars.svg
var barsText string

var barsTemplate = template.Must(template.New("bars.svg").Parse(barsText))

// Bar is a number of a span of time that begins on a day.
type Bar struct {
	Day   time.Time
	Value float64
}

// drawnBar is a bar of bars.svg.
type drawnBar struct {
	Label, Value                string
	X, Y, Width, Height, Middle string
}

// Bars draws a bar for each number.
func Bars(bars []Bar) ([]byte, error) {
	highest := 0.0
	for _, bar := range bars {
		highest = max(highest, bar.Value)
	}
	top := max(1, math.Ceil(highest*headroom))
	drawn := make([]drawnBar, 0, len(bars))
	for i, bar := range bars {
		drawn = append(drawn, drawBar(bar, i, len(bars), top))
	}
	var content bytes.Buffer
	err := barsTemplate.Execute(&content, map[string]any{"Bars": drawn, "Top": decimal(top)})
	return content.Bytes(), err
}

// drawBar draws one of count bars on a chart that is as high as top.
func drawBar(bar Bar, index, count int, top float64) drawnBar {
	space := (barsRight - barsLeft) / float64(count)
	width := min(maxBarWidth, space)
	middle := barsLeft + space*(float64(index)+0.5)
	height := (barsBottom - barsTop) * bar.Value / top
	return drawnBar{
		Label: bar.Day.Format("2 Jan"), Value: decimal(bar.Value),
		X: coordinate(middle - width/2), Y: coordinate(barsBottom - height),
		Width: coordinate(width), Height: coordinate(height), Middle: coordinate(middle),
	}
}

func decimal(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }

func coordinate(value float64) string { return strconv.FormatFloat(value, 'f', 1, 64) }

// maxNumber is the highest number that a chart shows.
const maxNumber = 1e12

// Query is the query of the address of a chart: it has the numbers in it, so that they are not read again.
// from is when the first of them begins, numbers below 0 and above 10^12 are drawn as these.
func Query(from time.Time, numbers []float64) url.Values {
	query := url.Values{"from": {strconv.FormatInt(from.Unix(), 10)}}
	for _, number := range numbers {
		query.Add("n", strconv.FormatFloat(min(max(0, number), maxNumber), 'f', -1, 64))
	}
	return query
}

// ParseQuery returns the bars of a Query of so many numbers, each of which begins a step behind the one before. The
// result is false if they cannot be drawn.
func ParseQuery(query url.Values, step time.Duration, count int) ([]Bar, bool) {
	from, err := strconv.ParseInt(query.Get("from"), 10, 64)
	if err != nil || len(query["n"]) != count {
		return nil, false
	}
	bars := make([]Bar, 0, count)
	for i, text := range query["n"] {
		number, err := strconv.ParseFloat(text, 64)
		if err != nil || !(number >= 0 && number <= maxNumber) {
			return nil, false
		}
		bars = append(bars, Bar{Day: time.Unix(from, 0).UTC().Add(time.Duration(i) * step), Value: number})
	}
	return bars, true
}
