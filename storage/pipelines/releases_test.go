package pipelines_test

import (
	"fmt"
	"slices"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/storage/pipelines"
	"attestry/storage/storagetest"
)

// See docs/semantics.md 18.12.
func TestUnapprovedListsTheTrailsOfARelease(t *testing.T) {
	s := apptest.NewFixture(t)
	put := func(flow, name string, at int, change func(*evidence.Trail)) {
		t.Helper()
		branch := "main"
		trail := evidence.Trail{ID: flow + name, Org: "org", Flow: flow, Name: name, CreatedAt: float64(at), Commit: &evidence.GitCommit{SHA1: name, Branch: &branch}}
		change(&trail)
		s.Must(s.Trails.Collection.Put(t.Context(), trail))
	}
	unchanged := func(*evidence.Trail) {}
	built := func(names ...string) func(*evidence.Trail) {
		return func(trail *evidence.Trail) {
			trail.Slots = map[string]evidence.SlotSummary{}
			for _, name := range names {
				trail.Slots[name] = evidence.SlotSummary{Fingerprint: "f"}
			}
		}
	}
	other := "feature"
	for i, trail := range []struct {
		name   string
		change func(*evidence.Trail)
	}{
		{"before", unchanged}, {"first", unchanged}, {"plain", unchanged}, {"approved", func(trail *evidence.Trail) { trail.Approved = true }},
		{"branch", func(trail *evidence.Trail) { trail.Commit.Branch = &other }},
		{"no-branch", func(trail *evidence.Trail) { trail.Commit.Branch = nil }},
		{"no-commit", func(trail *evidence.Trail) { trail.Commit = nil }},
		{"again-first", func(trail *evidence.Trail) { trail.Commit.SHA1 = "FIRST" }},
		{"again-last", func(trail *evidence.Trail) { trail.Commit.SHA1 = "last" }},
		{"app-too", built("api", "app")}, {"others", built("api")}, {"nothing-yet", built()},
		{"last", unchanged}, {"after", unchanged},
	} {
		put("flow", trail.name, 10+i, trail.change)
		put("elsewhere", trail.name, 10+i, unchanged)
	}
	release := func(replaced, trail, slot string) pipelines.Release {
		return pipelines.Release{Trail: evidence.TrailKey("flow", trail), Replaced: evidence.TrailKey("flow", replaced), Slot: slot}
	}
	between := []string{"plain", "no-branch", "no-commit", "app-too"}
	for name, c := range map[string]struct {
		release pipelines.Release
		want    []string
	}{
		"a release":            {release("first", "last", "app"), append(slices.Clone(between), "nothing-yet")},
		"of another artifact":  {release("first", "last", "api"), append(slices.Clone(between), "others", "nothing-yet")},
		"of the same trail":    {release("last", "last", "app"), nil},
		"a rollback":           {release("last", "first", "app"), nil},
		"a missing trail":      {release("first", "none", "app"), nil},
		"from a missing trail": {release("none", "approved", "app"), []string{"before", "first", "plain"}},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := s.Trails.Unapproved(t.Context(), []pipelines.Release{c.release, release("plain", "approved", "app")})
			if err != nil || !slices.Equal(found[c.release], c.want) || len(found[release("plain", "approved", "app")]) != 0 {
				t.Errorf("it brings %q, %v; want %q", found, err, c.want)
			}
		})
	}
	for i := range 1500 {
		put("flow", fmt.Sprintf("many-%04d", i), 1000+i, unchanged)
	}
	put("flow", "end", 5000, unchanged)
	// Two artifacts that are released together take no more commands than one.
	many, too := release("after", "end", "app"), release("after", "end", "api")
	counting := storagetest.NewCountingDocuments(s.Db)
	s.Docs.Documents = counting
	found, err := s.Trails.Unapproved(t.Context(), []pipelines.Release{many, too, many})
	if took := counting.Snapshot().Commands(); took != 2 {
		t.Errorf("it takes %d commands", took)
	}
	if err != nil || len(found[many]) != 10 || found[many][9] != "many-0009" || !slices.Equal(found[many], found[too]) {
		t.Errorf("of many it names %q and %q, %v", found[many], found[too], err)
	}
}
