package evidence_test

import (
	"math"
	"strconv"
	"testing"
	"time"

	"attestry/evidence"
)

func TestTimesAreReadInTheFormsOfISO8601(t *testing.T) {
	noon := time.Date(2026, time.March, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-03-31":                   noon.Add(-12 * time.Hour),
		"2026-03-31T12:00":             noon,
		"2026-03-31T12:00Z":            noon,
		"2026-03-31T14:00+02:00":       noon,
		"2026-03-31T14:00+0200":        noon,
		"2026-03-31T12:00:00":          noon,
		"2026-03-31 12:00:00":          noon,
		"2026-03-31 12:00":             noon,
		"2026-03-31 12:00:00Z":         noon,
		"2026-03-31 14:00:00+02:00":    noon,
		"2026-03-31T14:00:00+0200":     noon,
		"2026-03-31T12:00:00.5":        noon.Add(time.Second / 2),
		"2026-03-31T09:30:00.25-02:30": noon.Add(time.Second / 4),
		"2026-03-31T12:00:00.123456Z":  noon.Add(123456 * time.Microsecond),
	} {
		if got, ok := evidence.ParseTime(text); !ok || !got.Equal(want) {
			t.Errorf("%s: got %v, %v", text, got, ok)
		}
	}
}

func TestTimesThatNoCalendarHasAreNotRead(t *testing.T) {
	for _, text := range []string{
		"", "now", "1795274782", "2026-02-29", "2026-03-31T24:00", "2026-03-31T23:59:60", "2026-03-31T12:00+25:00", "10000-01-01",
		"9999-12-31T23:59:59-00:01", "0000-01-01T00:00+00:01", // in UTC in the years 10000 and -1
	} {
		t.Run(text, func(t *testing.T) {
			if got, ok := evidence.ParseTime(text); ok {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestSecondsAreRoundedToMicroseconds(t *testing.T) {
	for seconds, want := range map[float64]float64{
		0: 0, 1.5: 1.5, -1.5: -1.5, 0.028921842575073242: 0.028922, -0.0000004: 0, 0.0000005: 0.000001,
		1795274782.2119608: 1795274782.211961, 1 << 60: 1 << 60, 1e300: 1e300, -1e300: -1e300,
	} {
		if got := evidence.RoundSeconds(seconds); got != want || math.Signbit(got) != math.Signbit(want) {
			t.Errorf("%v: got %v, want %v", seconds, got, want)
		}
	}
}

func TestRoundedTimesAreNotChanged(t *testing.T) {
	at := time.Date(2026, time.March, 31, 12, 0, 0, 0, time.UTC)
	for i := range 100_000 {
		at = at.Add(time.Duration(i)*time.Microsecond + 7*time.Hour)
		stored := evidence.Seconds(at)
		if evidence.RoundSeconds(stored) != stored {
			t.Fatalf("%v becomes %v", stored, evidence.RoundSeconds(stored))
		}
		if got := evidence.Time(stored); got != at {
			t.Fatalf("%v is %v, not %v", stored, got, at)
		}
		// The next microsecond is another time.
		if next := evidence.RoundSeconds(stored + 1e-6); next != evidence.Seconds(at.Add(time.Microsecond)) {
			t.Fatalf("%v is followed by %v", stored, next)
		}
	}
}

func TestOtherFormsAreNoTimes(t *testing.T) {
	for _, text := range []string{
		"", " ", "yesterday", "1700000000", "2026", "2026-13-01", "2026-02-30", "2026-03-31T", "2026-03-31 ", "2026-03-31T24:00:00",
		"2026-03-31T12:00:00 02:00", "12:00", "31.03.2026", "2026-03-31  12:00",
	} {
		if got, ok := evidence.ParseTime(text); ok {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

func TestTimeAfterIsLaterInMicroseconds(t *testing.T) {
	const now = 1_795_268_303.123456
	for name, c := range map[string]struct{ last, now, want float64 }{
		"the clock has moved on":   {now, now + 1, now + 1},
		"nothing was before":       {0, now, now},
		"the clock stands still":   {now, now, 1_795_268_303.123457},
		"the clock was set back":   {now, now - 600, 1_795_268_303.123457},
		"the end of a second":      {1_795_268_303.999999, now, 1_795_268_304},
		"less than a microsecond":  {math.Nextafter(now, math.Inf(1)), now, 1_795_268_303.123457},
		"a microsecond has passed": {now, 1_795_268_303.123457, 1_795_268_303.123457},
	} {
		t.Run(name, func(t *testing.T) {
			if got := evidence.TimeAfter(c.last, c.now); got != c.want {
				t.Errorf("got %.9f, want %.9f", got, c.want)
			}
		})
	}
	at, seen := now, map[string]bool{}
	for range 10_000 {
		at = evidence.TimeAfter(at, now)
		seen[strconv.FormatFloat(at, 'f', 6, 64)] = true
	}
	if len(seen) != 10_000 {
		t.Errorf("%d of 10,000 times differ when they are rounded", len(seen))
	}
}
