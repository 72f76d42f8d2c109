package timeline

import (
	"math"
	"testing"
	"time"

	"attestry/evidence"
)

func TestMomentsAreTimes(t *testing.T) {
	const hour, day = 3600.0, 86400.0
	at := evidence.Seconds(noon)
	for text, want := range map[string]float64{
		"1hour": at - hour, "1h": at - hour, "2days": at - 2*day, "30mins": at - hour/2, "1 hour": at - hour,
		"3HOURS": at - 3*hour, "5m": at - 300, "90s": at - 90, "1sec": at - 1, "1w": at - 7*day, "2weeks": at - 14*day,
		"1d": at - day, "0h": at, "1month": evidence.Seconds(time.Date(2026, 2, 28, 12, 0, 0, 0, time.UTC)),
		"1000000000": 1e9, "1719638400": 1719638400, "1719638400.25": 1719638400.25,
		"2026-03-31T12:00:00Z": at, "2026-03-31T14:00:00+02:00": at, "2026-03-31T12:00:00": at, "2026-03-31 12:00:00": at,
		"2026-03-31T12:00:00.5Z": at + 0.5, "2026-03-31T12:00": at, "2026-03-31": at - day/2,
		"@{2026-03-31T12:00:00}": at, "@{2.hours.ago}": at - 2*hour,
	} {
		got, err := ParseMoment(text, noon)
		if err != nil || got.Snapshot != nil || got.At != want {
			t.Errorf("%s: %+v, %v, want %f", text, got, err, want)
		}
	}
}

func TestMomentsAreSnapshots(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "5": 5, "-1": -1, "-2": -2, "~0": -1, "~3": -4, "#7": 7, "NOW": -1, "now": -1, "@{now}": -1, "0": 0, "999999999": 999999999,
		"0000000001": 1,
	} {
		got, err := ParseMoment(text, noon)
		if err != nil || got.Snapshot == nil || got.Snapshot.Number != want || got.At != 0 {
			t.Errorf("%s: %+v, %v, want %d", text, got, err, want)
		}
	}
}

var noMoments = []string{
	"", " ", "foo", "h", "+5", "1fortnight", "1hour ago", "-1h", "1.5h", "1.5", "1e10", "@{garbage}", "@{150.minutes.ago}", "@{0.days.ago}", "@{", "2026-13-01",
	"2026-03-31T12:00:00 02:00", "NaN", "inf", "0x10", "5..6", "99999999999999999999h", "1ss", "5ms", "1hs", "\x00", "99999999999999999999999e9",
}

func TestInvalidMomentsAreRefused(t *testing.T) {
	for _, text := range noMoments {
		_, err := ParseMoment(text, noon)
		if evidence.CodeOf(err) != evidence.Invalid || err.Error() != "Invalid interval value: "+text {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestIntervalsHaveTwoMoments(t *testing.T) {
	first, last := Beginning(), End()
	for text, want := range map[string][2]Moment{
		"..":            {first, last},
		"1..NOW":        {first, last},
		"5..":           {Moment{Snapshot: &Expression{Number: 5}}, last},
		"..-3":          {first, Moment{Snapshot: &Expression{Number: -3}}},
		"~5..now":       {Moment{Snapshot: &Expression{Number: -6}}, last},
		"2h..1h":        {Moment{At: evidence.Seconds(noon) - 7200}, Moment{At: evidence.Seconds(noon) - 3600}},
		"1719638400..7": {Moment{At: 1719638400}, Moment{Snapshot: &Expression{Number: 7}}},
	} {
		start, end, err := ParseMoments(text, noon)
		if err != nil || !same(start, want[0]) || !same(end, want[1]) {
			t.Errorf("%s: %+v to %+v, %v", text, start, end, err)
		}
	}
	for _, text := range []string{"", "1h", "2026-03-31", "1...3", "1..2..3", "a..2", "1..b"} {
		if _, _, err := ParseMoments(text, noon); err == nil || err.Error() != "Invalid interval value: "+text {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func same(a, b Moment) bool {
	if a.Snapshot == nil || b.Snapshot == nil {
		return a.Snapshot == b.Snapshot && a.At == b.At
	}
	return a.Snapshot.Number == b.Snapshot.Number
}

func TestEndsOfALogAreSnapshots(t *testing.T) {
	for _, c := range []struct {
		interval    string
		latest      int64
		first, last int64
		missing     string
	}{
		{"..", 5, 1, 5, ""},
		{"2..4", 5, 2, 4, ""},
		{"4..2", 5, 2, 4, ""},
		{"NOW..1", 5, 1, 5, ""},
		{"-2..-1", 5, 4, 5, ""},
		{"2..1h", 5, 2, 0, ""},
		{"1h..2", 5, 0, 2, ""},
		{"2h..1h", 5, 0, 0, ""},
		{"NOW", 5, 5, 5, ""},
		{"3", 5, 3, 3, ""},
		{"1", 5, 1, 1, ""},
		{"-1", 5, 5, 5, ""},
		{"~0", 5, 5, 5, ""},
		{"@{now}", 5, 5, 5, ""},
		{"@{2.days.ago}", 5, 4, 4, ""},
		{"@{1.month.ago}", 5, 0, 0, ""},
		{"NOW", 0, 0, 0, ""},
		{"6", 5, 0, 0, "Org: 'acme'. Snapshot 'prod#6' resolves to 'prod#6'. len(snapshots) == 5. Indexes are 1-based"},
		{"~5", 5, 0, 0, "Org: 'acme'. Snapshot 'prod~5' resolves to 'prod#0'. len(snapshots) == 5. Indexes are 1-based"},
		{"..", 0, 0, 0, ""},
		{"1h..NOW", 0, 0, 0, ""},
		{"2..", 0, 0, 0, "Org: 'acme'. Snapshot 'prod#2' resolves to 'prod#2'. len(snapshots) == 0. Indexes are 1-based"},
		{"..6", 5, 0, 0, "Org: 'acme'. Snapshot 'prod#6' resolves to 'prod#6'. len(snapshots) == 5. Indexes are 1-based"},
		{"0..", 5, 0, 0, "Org: 'acme'. Snapshot 'prod#0' resolves to 'prod#0'. len(snapshots) == 5. Indexes are 1-based"},
		{"~5..", 5, 0, 0, "Org: 'acme'. Snapshot 'prod~5' resolves to 'prod#0'. len(snapshots) == 5. Indexes are 1-based"},
	} {
		start, end, err := ParseMoments(c.interval, noon)
		if err != nil {
			t.Fatal(err)
		}
		first, last, err := daily(c.latest).Ends(start, end)
		if c.missing != "" {
			if evidence.CodeOf(err) != evidence.NotFound || err.Error() != c.missing {
				t.Errorf("%s of %d: %v", c.interval, c.latest, err)
			}
			continue
		}
		if err != nil || first != c.first || last != c.last {
			t.Errorf("%s of %d: %d to %d, %v", c.interval, c.latest, first, last, err)
		}
	}
}

func FuzzParseMoments(f *testing.F) {
	for _, text := range noMoments {
		f.Add(text)
		f.Add(text + "..NOW")
	}
	f.Add("2days..1719638400.5")
	f.Add("@{3.months.ago}..18446744073709551615weeks")
	f.Fuzz(func(t *testing.T, text string) {
		start, end, err := ParseMoments(text, noon)
		if err != nil {
			if evidence.CodeOf(err) != evidence.Invalid {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		for _, one := range []Moment{start, end} {
			if math.IsNaN(one.At) || math.IsInf(one.At, 0) {
				t.Errorf("%q: a time of %f", text, one.At)
			}
		}
	})
}
