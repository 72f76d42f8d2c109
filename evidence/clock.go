package evidence

import (
	"math"
	"strings"
	"time"
)

// Clock returns the time. Tests use fake clocks.
type Clock func() time.Time

// Seconds returns t in Unix seconds with microseconds, as the API writes times (docs/semantics.md 1.4).
func Seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// RoundSeconds rounds a time or a span in seconds to microseconds, the precision of Seconds. Sums and differences of
// times are rounded, so that responses have no meaningless digits and equal the stored values.
func RoundSeconds(seconds float64) float64 {
	const exact = 1 << 53 / 1e6 // beyond it a float64 has no microseconds
	if math.Abs(seconds) > exact {
		return seconds
	}
	return math.Round(seconds*1e6)/1e6 + 0 // + 0 turns -0 into 0
}

// TimeAfter returns now, or the microsecond after last if now is not later; both are Unix seconds. So a later event
// gets a later time even if the clock was set back or two processes' clocks differ.
func TimeAfter(last, now float64) float64 {
	if now > last {
		return now
	}
	return (math.Round(last*1e6) + 1) / 1e6
}

// Time is the inverse of Seconds, in UTC.
func Time(seconds float64) time.Time { return time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC() }

// ISOTime formats Unix seconds as ISO 8601 in UTC.
func ISOTime(seconds float64) string { return Time(seconds).Format(time.RFC3339Nano) }

// timeForms are the accepted forms of ISO 8601. Seconds may have a fraction.
var timeForms = []string{
	time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", time.RFC3339,
	"2006-01-02T15:04Z0700", "2006-01-02T15:04:05Z0700",
}

// ParseTime reads an ISO 8601 time that ISOTime can write, in UTC without a zone. A blank may separate day and time.
func ParseTime(text string) (time.Time, bool) {
	if day, clock, ok := strings.Cut(text, " "); ok && len(day) == len(time.DateOnly) {
		text = day + "T" + clock
	}
	for _, form := range timeForms {
		if read, err := time.Parse(form, text); err == nil && read.UTC().Year() >= 0 && read.UTC().Year() <= 9999 {
			return read, true
		}
	}
	return time.Time{}, false
}
