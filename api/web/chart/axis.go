package chart

import (
	"math"
	"time"
)

// maxTicks limits the ticks of an axis, so that their labels do not overlap on a phone.
const maxTicks = 6

// steps are the distances of ticks in minutes. Longer distances are multiples of the last one by powers of two.
var steps = []float64{1, 5, 15, 60, 180, 360, 720, 1440, 2880, 10080}

// monday is the first day of year 1, in Unix seconds. Ticks are whole steps after it, so that weeks begin on Mondays.
var monday = float64(time.Time{}.Unix())

// Axis is a period, in Unix seconds.
type Axis struct{ From, To float64 }

// Tick is a time that is marked on an axis.
type Tick struct {
	At    float64
	Label string
}

// fraction is the position of a time on the axis, from 0 to 1. All times are at the beginning of an empty axis.
func (a Axis) fraction(at float64) float64 {
	if a.From >= a.To {
		return 0
	}
	return min(max(0, (at-a.From)/(a.To-a.From)), 1)
}

// Place is the position of a time on the axis, in percent of its length.
func (a Axis) Place(at float64) float64 { return a.fraction(at) * 100 }

// Share is the length of a period on the axis, in percent, at least as much as can be seen.
func (a Axis) Share(from, to float64) float64 {
	if from >= to {
		return 0
	}
	return max(0.3, a.Place(to)-a.Place(from))
}

// Ticks are round times in UTC. Midnights are labelled with the date.
func (a Axis) Ticks() (ticks []Tick) {
	step := steps[0] * 60
	for i := 1; a.To-a.From > step*maxTicks; i++ {
		step = max(2*step, steps[min(i, len(steps)-1)]*60)
	}
	for at := monday + (math.Floor((a.From-monday)/step)+1)*step; at < a.To; at += step {
		when, layout := time.Unix(int64(at), 0).UTC(), "15:04"
		if when.Equal(when.Truncate(24 * time.Hour)) {
			layout = "2 Jan"
		}
		ticks = append(ticks, Tick{at, when.Format(layout)})
	}
	return ticks
}
