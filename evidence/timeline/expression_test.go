package timeline

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
)

// noon is the current time of the tests.
var noon = time.Date(2026, time.March, 31, 12, 0, 0, 0, time.UTC)

// daily is a timeline of snapshots that were made at noon, one a day, the last of them a day ago.
func daily(latest int64) *Timeline {
	return &Timeline{
		Org: "acme", Environment: "prod", Latest: latest, Now: noon,
		InForce: func(at float64) (int64, error) {
			const day = 24 * 60 * 60
			behind := int64(math.Ceil((evidence.Seconds(noon) - at) / day))
			return min(latest, max(0, latest+1-behind)), nil
		},
	}
}

func TestExpressionsPickSnapshots(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "3": 3, "-1": 100, "-100": 1, "~0": 100, "~2": 98, "#2": 2, "#-1": 100, "007": 7,
		"@{now}": 100, "@{NOW}": 100, "@{2026-03-31T12:00:00}": 100, "@{2999-01-01T00:00:00Z}": 100,
		"@{2026-03-30T12:00:00}": 100, "@{2026-03-30T11:59:59Z}": 99,
		"@{1.hour.ago}": 100, "@{1.hours.ago}": 100, "@{24.hours.ago}": 100, "@{25.hours.ago}": 99,
		"@{2.days.ago}": 99, "@{1.day.ago}": 100, "@{2.weeks.ago}": 87, "@{1.week.ago}": 94,
		// February has no 31st.
		"@{1.month.ago}": 70, "@{2.months.ago}": 42, "@{3.months.ago}": 11,
	} {
		e, err := ParseExpression(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := daily(100).Resolve(e)
		if err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
}

func TestExpressionsBeyondTheSnapshotsAreNotFound(t *testing.T) {
	for _, c := range []struct {
		text   string
		latest int64
		want   string
	}{
		{"-1", 0, "Org: 'acme'. Snapshot 'prod#-1' resolves to 'prod#0'. len(snapshots) == 0. Indexes are 1-based"},
		{"~0", 0, "Org: 'acme'. Snapshot 'prod~0' resolves to 'prod#0'. len(snapshots) == 0. Indexes are 1-based"},
		{"@{now}", 0, "Org: 'acme'. Snapshot 'prod@{now}' resolves to 'prod#0'. len(snapshots) == 0. Indexes are 1-based"},
		{"@{2.days.ago}", 0, "Org: 'acme'. Snapshot 'prod@{2.days.ago}' resolves to 'prod#0'. len(snapshots) == 0. Indexes are 1-based"},
		{"23", 3, "Org: 'acme'. Snapshot 'prod#23' resolves to 'prod#23'. len(snapshots) == 3. Indexes are 1-based"},
		{"0", 3, "Org: 'acme'. Snapshot 'prod#0' resolves to 'prod#0'. len(snapshots) == 3. Indexes are 1-based"},
		{"#-0", 3, "Org: 'acme'. Snapshot 'prod#-0' resolves to 'prod#0'. len(snapshots) == 3. Indexes are 1-based"},
		{"~5", 3, "Org: 'acme'. Snapshot 'prod~5' resolves to 'prod#-2'. len(snapshots) == 3. Indexes are 1-based"},
		{"~9223372036854775806", 3, "Org: 'acme'. Snapshot 'prod~9223372036854775806' resolves to 'prod#-9223372036854775803'. len(snapshots) == 3. Indexes are 1-based"},
		{"-9223372036854775808", 3, "Org: 'acme'. Snapshot 'prod#-9223372036854775808' resolves to 'prod#-9223372036854775804'. len(snapshots) == 3. Indexes are 1-based"},
		{"@{2026-03-27T12:00:00}", 3, "Org: 'acme'. Snapshot 'prod@{2026-03-27T12:00:00}' resolves to 'prod#0'. len(snapshots) == 3. Indexes are 1-based"},
		{"@{18446744073709551615.months.ago}", 3, "Org: 'acme'. Snapshot 'prod@{18446744073709551615.months.ago}' resolves to 'prod#0'. len(snapshots) == 3. Indexes are 1-based"},
		{"@{18446744073709551615.weeks.ago}", 3, "Org: 'acme'. Snapshot 'prod@{18446744073709551615.weeks.ago}' resolves to 'prod#0'. len(snapshots) == 3. Indexes are 1-based"},
	} {
		e, err := ParseExpression(c.text)
		evidencetest.Must(t, err)
		_, err = daily(c.latest).Resolve(e)
		if evidence.CodeOf(err) != evidence.NotFound || err.Error() != c.want {
			t.Errorf("%s: got %v", c.text, err)
		}
	}
}

var garbled = []string{
	"", "five", "1.5", "~", "~-1", "~+1", "~x", "##1", "#", "#~1", "+1", "#+1", "-", "--1", "1 ", " 1", "１", "0x1", "1_0", "prod#1",
	"99999999999999999999", "~99999999999999999999", "~9223372036854775807",
	"@", "@{", "@{}", "@now", "@{now", "{now}", "@{now}}", "@{@{now}}", "@{garbage}", "@{1}",
	"@{0.days.ago}", "@{-1.days.ago}", "@{+1.days.ago}", "@{1.5.days.ago}", "@{.days.ago}", "@{1.days}", "@{1.days.}", "@{1..ago}", "@{1.s.ago}",
	"@{1.dayss.ago}", "@{1.years.ago}", "@{1.days.ago.ago}", "@{1 days ago}", "@{18446744073709551616.days.ago}",
	"@{2026-03-31}", "@{2026-03-31T12:00}", "@{2026-03-31 12:00:00}", "@{2026-02-30T12:00:00}", "@{2026-03-31T24:00:00}",
	"@{2026-03-31T12:00:00.5}", "@{2026-03-31T12:00:00ZZ}", "@{2026-03-31T12:00:00+02:00}", "@{2026-3-31T12:00:00}",
}

func TestGarbledExpressionsAreInvalid(t *testing.T) {
	for _, text := range garbled {
		_, err := ParseExpression(text)
		if evidence.CodeOf(err) != evidence.Invalid || err.Error() != "Bad snappish "+text {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestSnappishNamesAnEnvironmentAndASnapshot(t *testing.T) {
	for text, want := range map[string]struct {
		environment string
		rest        string
		number      int64
	}{
		"prod":          {"prod", "", 100},
		"prod#5":        {"prod", "#5", 5},
		"prod#-1":       {"prod", "#-1", 100},
		"prod~1":        {"prod", "~1", 99},
		"a.b-c_d@{now}": {"a.b-c_d", "@{now}", 100},
		"prod@{2.days.ago}": {
			"prod", "@{2.days.ago}", 99,
		},
	} {
		environment, e, err := ParseSnappish(text)
		if err != nil || environment != want.environment || e.String() != want.rest {
			t.Errorf("%q is %q and %q, %v", text, environment, e, err)
			continue
		}
		if number, err := daily(100).Resolve(e); err != nil || number != want.number {
			t.Errorf("%q: got %d, %v, want %d", text, number, err, want.number)
		}
	}
	_, latest, _ := ParseSnappish("prod")
	_, err := daily(0).Resolve(latest)
	if want := "Org: 'acme'. Snapshot 'prod' resolves to 'prod#0'. len(snapshots) == 0. Indexes are 1-based"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestGarbledSnappishIsInvalid(t *testing.T) {
	for _, text := range []string{
		"", "#1", "~1", "@{now}", "prod#", "prod~", "prod@", "prod@now", "prod#1#2", "prod#1~2", "prod~1#2", "prod~#1", "prod#~1",
		"prod@{now}~1", "prod#@{now}", "prod#five", "prod@{0.days.ago}", "prod#1 ",
	} {
		_, _, err := ParseSnappish(text)
		if evidence.CodeOf(err) != evidence.Invalid || err.Error() != "Bad snappish "+text {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestErrorOfALookUpIsReturned(t *testing.T) {
	broken := errors.New("away")
	timeline := daily(5)
	timeline.InForce = func(float64) (int64, error) { return 0, broken }
	e, err := ParseExpression("@{1.day.ago}")
	evidencetest.Must(t, err)
	if _, err := timeline.Resolve(e); !errors.Is(err, broken) {
		t.Errorf("resolving: %v", err)
	}
	if _, _, err := timeline.Interval("@{1.day.ago}..NOW"); !errors.Is(err, broken) {
		t.Errorf("the interval: %v", err)
	}
}

func TestSnapshotsMadeMeanwhileDoNotCount(t *testing.T) {
	timeline := daily(5)
	timeline.InForce = func(float64) (int64, error) { return 6, nil }
	e, _ := ParseExpression("@{2999-01-01T00:00:00}")
	if number, err := timeline.Resolve(e); err != nil || number != 5 {
		t.Errorf("got %d, %v", number, err)
	}
}

func FuzzParseExpression(f *testing.F) {
	for _, seed := range []string{"1", "-1", "~3", "#5", "@{now}", "@{2.days.ago}", "@{2026-03-31T12:00:00}", "prod#5", "1..@{now}", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := ParseExpression(text); err == nil {
			assertWithin(t, text, e)
		}
		if environment, e, err := ParseSnappish(text); err == nil {
			assertWithin(t, text, e)
			if environment+e.String() != text {
				t.Errorf("%q was read as %q", text, environment+e.String())
			}
		}
		begin, end, err := daily(10).Interval(text)
		single := !strings.Contains(text, "..") && text != ""
		if err == nil && (begin < 1 || end > 10 || single && begin < end) {
			t.Errorf("%q is %d to %d", text, begin, end)
		}
		if err != nil && evidence.CodeOf(err) == evidence.Internal {
			t.Errorf("%q: %v", text, err)
		}
	})
}

func assertWithin(t *testing.T, text string, e Expression) {
	t.Helper()
	if n, err := daily(10).Resolve(e); err == nil && (n < 1 || n > 10) {
		t.Errorf("%q resolves to %d of 10", text, n)
	}
}
