// Package chart draws what pages show as SVG.
package chart

import (
	"bytes"
	"math"
	"strconv"
	"time"

	"github.com/wcharczuk/go-chart/v2"
	"github.com/wcharczuk/go-chart/v2/drawing"
)

// headroom is how high a chart is, in heights of its highest bar.
const headroom = 1.1

// Bar is a number of a span of time that begins on a day.
type Bar struct {
	Day   time.Time
	Value float64
}

// Bars draws a bar for each number. Its texts are numbers and days, as the library does not escape them.
func Bars(bars []Bar) ([]byte, error) {
	blue := chart.Style{FillColor: drawing.ColorFromHex("2f6fb5"), StrokeColor: drawing.ColorFromHex("2f6fb5"), StrokeWidth: 1}
	highest := 0.0
	values := make([]chart.Value, 0, len(bars))
	for _, bar := range bars {
		highest = max(highest, bar.Value)
		values = append(values, chart.Value{Label: bar.Day.Format("2 Jan"), Value: bar.Value, Style: blue})
	}
	top := max(1, math.Ceil(highest*headroom))
	drawn := chart.BarChart{
		Width: 480, Height: 240, BarWidth: 50, Bars: values,
		YAxis: chart.YAxis{
			Range: &chart.ContinuousRange{Min: 0, Max: top},
			Ticks: []chart.Tick{{Value: 0, Label: "0"}, {Value: top, Label: strconv.FormatFloat(top, 'f', 0, 64)}},
		},
	}
	var content bytes.Buffer
	err := drawn.Render(chart.SVG, &content)
	return content.Bytes(), err
}
