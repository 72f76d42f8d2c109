package pipelines_test

import (
	"fmt"
	"strings"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/pipelines"
)

func TestTrailsAreListedByFlowNewestFirst(t *testing.T) {
	store, _, _ := apptest.NewStore(t)
	for i, key := range []string{"f/a", "g/b", "h/c", "f/d", "g/e"} {
		flow, name, _ := strings.Cut(key, "/")
		evidencetest.Must(t, store.Trails.Insert(t.Context(), evidence.Trail{Org: "org", Flow: flow, Name: name, CreatedAt: float64(i)}))
	}
	many := []string{"f"}
	for i := range storage.MaxMany {
		many = append(many, fmt.Sprint("unused", i))
	}
	many = append(many, "g") // f and g are read with different commands
	for _, c := range []struct {
		org           string
		flows         []string
		offset, limit int
		want          string
	}{
		{"org", nil, 0, 9, "e d c b a"}, {"org", nil, 1, 2, "d c"}, {"other", nil, 0, 9, ""},
		{"org", []string{}, 0, 9, ""}, {"org", []string{"f"}, 0, 9, "d a"}, {"org", []string{"f", "h"}, 1, 1, "c"},
		{"org", many, 0, 9, "e d b a"}, {"org", many, 1, 2, "d b"}, {"org", many, 3, 9, "a"}, {"org", many, 4, 9, ""},
	} {
		list, err := store.Trails.List(t.Context(), pipelines.TrailQuery{Org: c.org, Flows: c.flows, Offset: c.offset, Limit: c.limit})
		evidencetest.Must(t, err)
		got := strings.Join(evidence.Map(apptest.AllOf(t, list), func(trail evidence.Trail) string { return trail.Name }), " ")
		if got != c.want {
			t.Errorf("%s, flows %v from %d at most %d: %q, want %q", c.org, c.flows[:min(3, len(c.flows))], c.offset, c.limit, got, c.want)
		}
	}
}

func TestExtentOfTrailsCountsTheirEventsUntilTheNewest(t *testing.T) {
	store, _, _ := apptest.NewStore(t)
	for i, trail := range []string{"f/b", "f/c", "f/a", "f/b", "f/a", "f/c"} {
		event := evidence.TrailEvent{ID: fmt.Sprint(i), Org: "org", Flow: "f", Trail: trail, Time: float64(i + 1)}
		evidencetest.Must(t, store.TrailEvents.Add(t.Context(), event))
	}
	for _, c := range []struct {
		trails []string
		count  int64
		newest float64
	}{{[]string{"f/a"}, 2, 5}, {[]string{"f/a", "f/b"}, 4, 5}, {[]string{"f/b", "f/none"}, 2, 4}, {[]string{"f/none"}, 0, 0}} {
		if count, newest, err := store.TrailEvents.Extent(t.Context(), "org", c.trails); err != nil || count != c.count || newest != c.newest {
			t.Errorf("%v: %d until %v, %v", c.trails, count, newest, err)
		}
	}
}
