package timeline

import (
	"testing"

	"attestry/evidence"
)

func TestIntervalSidesAreResolved(t *testing.T) {
	for text, want := range map[string][2]int64{
		"":         {1, 9},
		"..":       {1, 9},
		"1..NOW":   {1, 9},
		"NOW..NOW": {9, 9},
		"now..5":   {5, 9},
		"3..":      {3, 9},
		"..4":      {1, 4},
		"#2..#4":   {2, 4},
		"~2..-1":   {7, 9},
		"5..2":     {2, 5},

		// One snapshot.
		"NOW": {9, 9}, "now": {9, 9}, "3": {3, 3}, "#3": {3, 3}, "1": {1, 1}, "-1": {9, 9}, "-9": {1, 1}, "~0": {9, 9}, "~2": {7, 7},
		"@{now}": {9, 9}, "@{2.days.ago}": {8, 8}, "@{2026-03-28T12:00:00}": {7, 7}, "@{1.month.ago}": {1, 0},

		"@{2.days.ago}..NOW":        {8, 9},
		"@{now}..~1":                {8, 9},
		"3..@{2026-03-30T11:00:00}": {3, 8},
		"@{2026-03-28T12:00:00}..@{2026-03-29T12:00:00}": {7, 8},
		// From before the first snapshot.
		"@{1.month.ago}..NOW":             {1, 9},
		"@{2020-01-01T00:00:00}..2":       {1, 2},
		"2..@{2020-01-01T00:00:00}":       {1, 2},
		"@{1.month.ago}..@{2.months.ago}": {1, 0},
	} {
		begin, end, err := daily(9).Interval(text)
		if err != nil || [2]int64{begin, end} != want {
			t.Errorf("%q: %d to %d, %v, want %v", text, begin, end, err, want)
		}
	}
}

func TestIntervalOfAnEmptyEnvironmentIsEmpty(t *testing.T) {
	for _, text := range []string{"", "..", "1..", "#1..NOW", "1..NOW", "NOW..NOW", "..NOW", "@{now}..", "@{2.days.ago}..NOW", "..@{2026-03-30T12:00:00}", "NOW", "1", "-1", "~0", "@{now}", "@{2.days.ago}"} {
		begin, end, err := daily(0).Interval(text)
		if err != nil || begin <= end {
			t.Errorf("%q: %d to %d, %v", text, begin, end, err)
		}
	}
}

func TestIntervalsBeyondTheSnapshotsAreNotFound(t *testing.T) {
	for text, latest := range map[string]int64{"10..NOW": 9, "..10": 9, "~9..": 9, "0..3": 9, "2..": 0, "~1..NOW": 0, "10": 9, "0": 9, "-10": 9, "~9": 9, "2": 0, "~1": 0} {
		_, _, err := daily(latest).Interval(text)
		if evidence.CodeOf(err) != evidence.NotFound {
			t.Errorf("%q of %d: %v", text, latest, err)
		}
	}
}

func TestGarbledIntervalsAreInvalid(t *testing.T) {
	texts := []string{"1...3", "1..2..3", "...", "1.. 3", "prod#1..2", "1..TODAY", "1-3"}
	for _, text := range garbled {
		if text != "" {
			texts = append(texts, text, text+"..NOW", "1.."+text)
		}
	}
	for _, text := range texts {
		for _, latest := range []int64{0, 9} {
			_, _, err := daily(latest).Interval(text)
			if evidence.CodeOf(err) != evidence.Invalid || err.Error() != "Invalid interval value: "+text {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
}
