package environments_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"attestry/app"
	"attestry/app/apptest"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/environments"
	"attestry/storage/storagetest"
)

// recordLogs records the events of three environments, one snapshot each second, and returns them all.
func recordLogs(s *apptest.Fixture) []snapshot.Event {
	s.T.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	var all []snapshot.Event
	for _, environment := range []string{"one", "two", "three"} {
		for number := int64(1); number <= 60; number++ {
			for range random.IntN(5) {
				ordinal := int64(1)
				if last := len(all) - 1; last >= 0 && all[last].Environment == environment {
					ordinal = all[last].Ordinal + 1
				}
				all = append(all, snapshot.Event{
					Org: "acme", Environment: environment, Ordinal: ordinal, Snapshot: number, Timestamp: float64(number),
					Fingerprint: fmt.Sprint(random.IntN(9)), Type: snapshot.Changed,
					Repos: [][]string{nil, {"cli"}, {"web"}, {"cli", "web"}, {"db", "cli"}}[random.IntN(5)],
				})
			}
		}
	}
	s.Must(s.Events.Record(s.T.Context(), all))
	return all
}

// Earlier versions stored the whole event for each repository.
func TestEventsThatAnEarlierVersionStoredForRepositoriesAreListed(t *testing.T) {
	s := apptest.NewFixture(t)
	event := snapshot.Event{Org: "acme", Environment: "one", Ordinal: 1, Snapshot: 1, Timestamp: 5, Fingerprint: "1", Type: snapshot.Changed}
	s.Must(s.Events.Record(t.Context(), []snapshot.Event{event}))
	schemas := app.Schemas()
	i := slices.IndexFunc(schemas, func(schema *storage.Schema) bool { return schema.Name == "environment_events" })
	s.Must(storagetest.Insert(t.Context(), s.Documents, schemas[i], storage.Record{
		ID: "one/1/cli", Revision: 1,
		Fields: map[string]any{"repo_environment": "one", "repo": "cli", "time": 5.0, "ordinal": int64(1)},
		Body:   []byte(`{"org":"acme","environment":"one","ordinal":1,"snapshot":1,"timestamp":5,"fingerprint":"1","type":"changed","repo":"cli"}`),
	}))
	for _, repos := range [][]string{{"cli"}, {"cli", "web"}} {
		found, total, err := s.Events.OfRepos(t.Context(), environments.EventRange{Environment: "one", To: 60}, repos, environments.EventPage{Limit: 10})
		if err != nil || total != 1 || len(found) != 1 || found[0].Fingerprint != "1" {
			t.Errorf("of %v: %v, %d, %v", repos, found, total, err)
		}
	}
}

// within is the model: the positions of a page of the events in a range, and how many the range has.
func within(all []snapshot.Event, r environments.EventRange, repos []string, p environments.EventPage) (page []string, total int) {
	found := slices.DeleteFunc(slices.Clone(all), func(e snapshot.Event) bool {
		matches := len(repos) == 0 || slices.ContainsFunc(e.Repos, func(repo string) bool { return slices.Contains(repos, repo) })
		return !matches || r.Environment != e.Environment || e.Timestamp < r.From || e.Timestamp > r.To
	})
	slices.SortFunc(found, func(a, b snapshot.Event) int {
		order := cmp.Compare(a.Ordinal, b.Ordinal)
		if p.Descending {
			return -order
		}
		return order
	})
	start := min(p.Offset, len(found))
	return positions(found[start:min(start+p.Limit, len(found))]), len(found)
}

func positions(events []snapshot.Event) []string {
	named := []string{}
	for _, event := range events {
		named = append(named, fmt.Sprint(event.Environment, "/", event.Ordinal))
	}
	return named
}

var eventRanges = []environments.EventRange{
	{Environment: "one", To: 60},
	{Environment: "two", From: 10, To: 20},
	{Environment: "two", From: 10.5, To: 19.5},
	{Environment: "three", From: 60, To: math.MaxFloat64},
	{Environment: "one", From: 20, To: 10},
	{Environment: "one", From: 61, To: 70},
	{Environment: "none", To: 70},
}

var eventPages = []environments.EventPage{
	{Limit: 1000}, {Limit: 1000, Descending: true}, {Limit: 7}, {Limit: 7, Descending: true},
	{Offset: 10, Limit: 10}, {Offset: 10, Limit: 10, Descending: true}, {Offset: 1 << 40, Limit: 10, Descending: true},
}

func TestEventLogsAreReadInPages(t *testing.T) {
	s := apptest.NewFixture(t)
	all := recordLogs(s)
	for _, r := range eventRanges {
		for _, p := range eventPages {
			want, total := within(all, r, nil, p)
			logged, size, err := s.Events.Log(t.Context(), r, p)
			s.Must(err)
			if got := positions(logged); !slices.Equal(got, want) || size != int64(total) {
				t.Errorf("%+v %+v: the log has %v of %d, want %v of %d", r, p, got, size, want, total)
			}
		}
	}
}

func TestEventsOfSeveralReposAreListedOnce(t *testing.T) {
	s := apptest.NewFixture(t)
	all := recordLogs(s)
	for _, repos := range [][]string{{"cli"}, {"none"}, {"cli", "web"}, {"db", "cli", "none"}} {
		for _, r := range eventRanges {
			for _, p := range eventPages {
				want, total := within(all, r, repos, p)
				found, counted, err := s.Events.OfRepos(t.Context(), r, repos, p)
				s.Must(err)
				if got := positions(found); !slices.Equal(got, want) || counted != int64(total) {
					t.Errorf("%v %+v %+v: %v of %d, want %v of %d", repos, r, p, got, counted, want, total)
				}
			}
		}
	}
}

func TestEventLogsAreWalkedOldestFirst(t *testing.T) {
	s := apptest.NewFixture(t)
	all := recordLogs(s)
	var many []snapshot.Event
	for ordinal := int64(1); ordinal <= 2500; ordinal++ {
		many = append(many, snapshot.Event{Environment: "long", Ordinal: ordinal, Timestamp: float64((ordinal + 999) / 1000)})
	}
	s.Must(s.Events.Record(t.Context(), many))
	all = append(all, many...)
	for _, r := range append(slices.Clone(eventRanges), environments.EventRange{Environment: "long", To: 70}) {
		want, _ := within(all, r, nil, environments.EventPage{Limit: len(all)})
		got, cursor := []string{}, ""
		for {
			page, next, err := s.Events.Walk(t.Context(), r, cursor, 100_000)
			s.Must(err)
			if len(page) > storage.MaxMany {
				t.Fatalf("%+v: a page of %d", r, len(page))
			}
			got = append(got, positions(page)...)
			if cursor = next; cursor == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %d events, want %d", r, len(got), len(want))
		}
	}
}

// endless is an engine in which the first fingerprint of each query has endless events, and counts how often a query
// begins.
type endless struct {
	storage.Documents
	begun int
}

func (e *endless) Find(_ context.Context, _ *storage.Schema, query storage.Query) (storage.Page, error) {
	if query.After == "" {
		e.begun++
	}
	body := fmt.Appendf(nil, `{"fingerprint":%q,"type":"changed"}`, query.Equal[1].(storage.In)[0])
	return storage.Page{Records: slices.Repeat([]storage.Record{{Body: body}}, query.Limit), Next: "next"}, nil
}

func TestEventsOfArtifactsThatAllStartOftenAreReadAFewTimes(t *testing.T) {
	docs := &endless{}
	var fingerprints []string
	for i := range 20 {
		fingerprints = append(fingerprints, fmt.Sprint(i))
	}
	events, err := environments.NewEvents(docs).OfArtifacts(t.Context(), "acme", fingerprints)
	if err != nil || docs.begun != 8 || len(events) != 80_000 {
		t.Errorf("%d events are found with %d queries: %v", len(events), docs.begun, err)
	}
}
