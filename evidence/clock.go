package evidence

import (
	"strings"
	"time"
)

// Clock tells the time. Whatever needs it is handed one, so that tests can turn
// the hands.
type Clock func() time.Time

// Seconds returns t as float Unix seconds with microseconds, the form of times
// in the contract (contract/responses.md, "Values").
func Seconds(t time.Time) float64 {
	return float64(t.UnixMicro()) / 1e6
}

// timeForms are the forms of ISO 8601 that are understood; seconds may have a fraction
// in each.
var timeForms = []string{
	time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", time.RFC3339,
	"2006-01-02T15:04Z0700", "2006-01-02T15:04:05Z0700",
}

// ParseTime reads a time in ISO 8601, which is in UTC unless it names a zone. A blank
// may be between the day and the time of day.
func ParseTime(text string) (time.Time, bool) {
	if day, clock, ok := strings.Cut(text, " "); ok && len(day) == len(time.DateOnly) {
		text = day + "T" + clock
	}
	for _, form := range timeForms {
		if read, err := time.Parse(form, text); err == nil {
			return read, true
		}
	}
	return time.Time{}, false
}
