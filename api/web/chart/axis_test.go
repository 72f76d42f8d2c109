package chart

import (
	"strings"
	"testing"
	"time"
)

func TestAxesMarkRoundTimesThatDoNotOverlap(t *testing.T) {
	end := time.Date(2026, 3, 31, 12, 7, 30, 0, time.UTC)
	for length, want := range map[time.Duration]string{
		5 * time.Minute:       "12:03 12:04 12:05 12:06 12:07",
		24 * time.Hour:        "18:00 31 Mar 06:00 12:00",
		7 * 24 * time.Hour:    "26 Mar 28 Mar 30 Mar",
		30 * 24 * time.Hour:   "2 Mar 9 Mar 16 Mar 23 Mar 30 Mar",
		3650 * 24 * time.Hour: "1 Jan 15 Aug 29 Mar 9 Nov",
	} {
		axis := Axis{From: float64(end.Add(-length).Unix()), To: float64(end.Unix())}
		var labels []string
		for _, tick := range axis.Ticks() {
			labels = append(labels, tick.Label)
			if place := axis.Place(tick.At); place <= 0 || place >= 100 {
				t.Errorf("%s is at %g %%", tick.Label, place)
			}
		}
		if got := strings.Join(labels, " "); got != want && length < 3650*24*time.Hour || len(labels) > maxTicks {
			t.Errorf("%s is marked by %q, want %q", length, got, want)
		}
	}
}

func TestAnEmptyAxisHasPlaces(t *testing.T) {
	for _, axis := range []Axis{{From: 100, To: 100}, {From: 101, To: 100}} {
		if got := axis.Place(100); got != 0 || len(axis.Ticks()) > 0 {
			t.Errorf("%+v has 100 at %g %% and ticks %v", axis, got, axis.Ticks())
		}
	}
}

func TestTimesOutsideAnAxisAreAtItsEnds(t *testing.T) {
	axis := Axis{From: 100, To: 200}
	for _, test := range []struct{ from, to, want float64 }{{0, 150, 50}, {150, 300, 50}, {120, 120, 0}, {120, 120.01, 0.3}, {130, 120, 0}, {0, 300, 100}} {
		if got := axis.Share(test.from, test.to); got != test.want {
			t.Errorf("from %g to %g takes %g %%, want %g", test.from, test.to, got, test.want)
		}
	}
}

func TestAxisOfAnyLengthHasFewTicks(t *testing.T) {
	for _, axis := range []Axis{{From: -6e10, To: 2e11}, {From: 0, To: 1e15}} {
		if ticks := axis.Ticks(); len(ticks) < 2 || len(ticks) > maxTicks {
			t.Errorf("%v has %d ticks", axis, len(ticks))
		}
	}
}
