package snapshots_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/evidence"
)

// startFiveDays starts a service with an environment that has a snapshot of each noon from 30 March to 3 April. The
// clock is stopped a minute past noon of 4 April.
func startFiveDays(t *testing.T) *apitest.Service {
	t.Helper()
	s := apitest.Start(t, apitest.Options{StoppedAt: apitest.NoonOf30March})
	s.CreateEnvironment("host", evidence.Server)
	s.CreateLogical("all", "host")
	runFiveVersions(s, 24*time.Hour)
	s.Clock.Advance(time.Minute)
	return s
}

func TestSnapshotsAreFoundByEveryExpression(t *testing.T) {
	t.Parallel()
	s := startFiveDays(t)
	apitest.Each(s, map[string]int64{
		"1": 1, "5": 5, "-1": 5, "-5": 1, "~0": 5, "~4": 1, "%235": 5, "%23-2": 4, "~1": 4,
		"@%7Bnow%7D": 5, "@{NOW}": 5, "@%7B2026-03-31T12:00:10%7D": 2, "@%7B2026-03-31T11:59:59%7D": 1, "@%7B2026-03-31T12%3A00%3A10Z%7D": 2,
		"@%7B2100-01-01T00:00:00%7D": 5, "@{1.day.ago}": 5, "@{2.days.ago}": 4, "@{48.hours.ago}": 4, "@{120.hours.ago}": 1,
	}, func(s *apitest.Service, expression string, want int64) {
		apitest.Equal(s.T, s.GetSnapshot("host", expression).Index, want, expression)
	})
	s.Clock.Advance(3 * 24 * time.Hour)
	apitest.Equal(t, s.GetSnapshot("host", "@{1.week.ago}").Index, 2, "a week before 7 April it was snapshot")
	s.Clock.Advance(23 * 24 * time.Hour)
	apitest.Equal(t, s.GetSnapshot("host", "@{1.months.ago}").Index, 1, "a month before 30 April it was snapshot")
}

func TestSnapshotsAreListedBetweenPointsInTime(t *testing.T) {
	t.Parallel()
	s := startFiveDays(t)
	for _, environment := range []string{"host", "all"} {
		path := "/snapshots/" + s.Org + "/" + environment + "?interval="
		for query, want := range map[string]string{
			"@{2.days.ago}": "4",
			"@{2026-03-31T12:00:10}..@{2026-04-01T12:00:10}":    "3 2",
			"@{3.days.ago}..NOW&reverse=true&per_page=2&page=2": "5",
		} {
			t.Run(environment+" "+query, func(t *testing.T) {
				s := s.In(t)
				apitest.Equal(t, apitest.Column(t, s.Read(path+query), "index"), want)
			})
		}
		s.WantError(http.StatusBadRequest, "Invalid interval value: 1..five", http.MethodGet, path+"1..five", "")
		s.WantError(http.StatusNotFound, "Org: '"+s.Org+"'. Snapshot '"+environment+"#6' resolves to '"+environment+"#6'. len(snapshots) == 5. Indexes are 1-based",
			http.MethodGet, path+"6..NOW", "")
	}
}

func TestListingSnapshotsCostsTheSameHoweverManyThereAre(t *testing.T) {
	s, counting := apitest.StartCounting(t, apitest.Options{WithoutWorker: true, StoppedAt: apitest.NoonOf30March})
	s.CreateEnvironment("few", evidence.Server)
	s.CreateEnvironment("many", evidence.Server)
	count := apitest.Scaled(5_000, 50_000)
	storeSnapshots(s, "few", 20, 1, "none")
	storeSnapshots(s, "many", count, 1, "none")
	commands := func(s *apitest.Service, environment, query string, first, last int) int {
		s.T.Helper()
		counting.Reset()
		items := s.Read("/snapshots/" + s.Org + "/" + environment + "?per_page=15" + query).([]any)
		if apitest.Lookup(s.T, items[0], "index") != float64(first) || apitest.Lookup(s.T, items[len(items)-1], "index") != float64(last) {
			s.T.Errorf("%s %s: from %v to %v", environment, query, items[0], items[len(items)-1])
		}
		return counting.Snapshot().Commands()
	}
	few := commands(s, "few", "", 20, 6)
	for _, c := range []struct {
		query       string
		first, last int
	}{
		{"", count, count - 14},
		{fmt.Sprintf("&page=%d", count/15), 20, 6},
		{"&reverse=true", 1, 15},
		{fmt.Sprintf("&page=%d&reverse=true", count/50), count/50*15 - 14, count / 50 * 15},
		{fmt.Sprintf("&interval=%d..NOW", count/2), count, count - 14},
	} {
		t.Run(s.CaseName(c.query), func(t *testing.T) {
			if many := commands(s.In(t), "many", c.query, c.first, c.last); many > few {
				t.Errorf("%d commands among %d, %d among 20", many, count, few)
			}
		})
	}
	// There is a snapshot per minute.
	from, to := count/80, count/120
	last := count - 60*to + 1
	if timed := commands(s, "many", "&interval="+url.QueryEscape(fmt.Sprintf("@{%d.hours.ago}..@{%d.hours.ago}", from, to)), last, last-14); timed > few+2 {
		t.Errorf("%d commands between two points in time, %d without", timed, few)
	}
	if beyond := s.Read("/snapshots/" + s.Org + "/many?per_page=15&page=99999999").([]any); len(beyond) != 0 {
		t.Errorf("a page beyond the end has %v", beyond)
	}
}
