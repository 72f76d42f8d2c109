package storage_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"attestry/evidence"
	"attestry/storage"
)

func TestArtifactsAreListedNewestFirst(t *testing.T) {
	store, _, _ := NewStore(t)
	one := ArtifactRecord("f1", "t", Sha("1", 64), Sha("a", 40), 1)
	two := ArtifactRecord("f2", "t", Sha("2", 64), Sha("a", 40), 2)
	three := ArtifactRecord("f1", "t", Sha("3", 64), Sha("a", 40), 3)
	foreign := ArtifactRecord("f1", "t", Sha("4", 64), Sha("a", 40), 4)
	two.Repo, three.Repo, foreign.Org = "r", "r", "other"
	PutArtifacts(t, store, one, two, three, foreign)
	for name, c := range map[string]struct {
		query storage.ArtifactQuery
		want  []string
	}{
		"all":          {storage.ArtifactQuery{Limit: 9}, []string{three.ID, two.ID, one.ID}},
		"flow":         {storage.ArtifactQuery{Flow: "f1", Limit: 9}, []string{three.ID, one.ID}},
		"repo":         {storage.ArtifactQuery{Repos: []string{"q", "r"}, Limit: 9}, []string{three.ID, two.ID}},
		"flow of repo": {storage.ArtifactQuery{Repos: []string{"r"}, Flow: "f2", Limit: 9}, []string{two.ID}},
		"second page":  {storage.ArtifactQuery{Offset: 1, Limit: 1}, []string{two.ID}},
		"beyond":       {storage.ArtifactQuery{Offset: 3, Limit: 9}, nil},
	} {
		c.query.Org = "org"
		var ids []string
		for _, record := range AllOf(t, store.Artifacts.List(c.query)) {
			ids = append(ids, record.ID)
		}
		if !slices.Equal(ids, c.want) {
			t.Errorf("%s: %v; want %v", name, ids, c.want)
		}
	}
}

func TestPageOfArtifactsLiesBeyondWhatOneCommandScans(t *testing.T) {
	store, _, _ := NewStore(t)
	records := make([]evidence.ArtifactRecord, storage.MaxScan+2000)
	for i := range records {
		records[i] = ArtifactRecord("f", "t", Sha("1", 64), "", float64(i))
	}
	PutArtifacts(t, store, records...)
	found := AllOf(t, store.Artifacts.List(storage.ArtifactQuery{Org: "org", Offset: storage.MaxScan + 1995, Limit: 15}))
	if len(found) != 5 || found[0].CreatedAt != 4 {
		t.Fatalf("%d found", len(found))
	}
}

func TestShortenedFingerprintFindsTheNewestThatBeginsSo(t *testing.T) {
	store, _, _ := NewStore(t)
	old := ArtifactRecord("f", "t1", Sha("abcde9", 64), Sha("1", 40), 1)
	latest := ArtifactRecord("f", "t1", Sha("abcde1", 64), Sha("1", 40), 3)
	again := ArtifactRecord("f", "t2", Sha("abcde9", 64), Sha("1", 40), 2)
	elsewhere := ArtifactRecord("g", "t", Sha("abcde5", 64), Sha("1", 40), 9)
	unlike := ArtifactRecord("f", "t", Sha("abcdf", 64), Sha("1", 40), 8)
	PutArtifacts(t, store, old, latest, again, elsewhere, unlike)
	for name, c := range map[string]struct{ trail, digits, want string }{
		"five digits":       {"", "abcde", latest.ID},
		"six digits":        {"", "abcde9", again.ID},
		"whole":             {"", old.Fingerprint, again.ID},
		"in a trail":        {"t1", "abcde", latest.ID},
		"whole in a trail":  {"t1", old.Fingerprint, old.ID},
		"in another trail":  {"t2", "abcde", again.ID},
		"in no such trail":  {"t3", "abcde", ""},
		"unknown":           {"", "abcdd", ""},
		"whole and unknown": {"", Sha("abcdd", 64), ""},
	} {
		found, err := store.Artifacts.Latest(t.Context(), "org", "f", c.trail, c.digits)
		if found.ID != c.want || (err != nil) != (c.want == "") || err != nil && !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("%s: %q, %v; want %q", name, found.ID, err, c.want)
		}
	}
}

func TestFingerprintReportedOverAndOverHidesNoOther(t *testing.T) {
	store, docs, _ := NewStore(t)
	var records []evidence.ArtifactRecord
	for i := range 2500 {
		records = append(records, ArtifactRecord("f", "t", Sha("abcde9", 64), Sha("c", 40), float64(i)))
	}
	latest := ArtifactRecord("f", "t", Sha("abcde1", 64), Sha("c", 40), 9000)
	PutArtifacts(t, store, append(records, latest)...)
	before := docs.Commands.Load()
	found, err := store.Artifacts.Latest(t.Context(), "org", "f", "", "abcde")
	if err != nil || found.ID != latest.ID {
		t.Errorf("found %+v, %v", found, err)
	}
	if spent := docs.Commands.Load() - before; spent > 3 {
		t.Errorf("it took %d commands", spent)
	}
	traces, err := store.Artifacts.Search(t.Context(), "org", "abcde")
	if err != nil || len(traces.Fingerprints) != 2 || len(traces.Records) != 2 || traces.Records[0] != latest.ID {
		t.Errorf("traces %+v, %v", traces, err)
	}
}

func TestTooManyFingerprintsThatBeginAlikeAreAmbiguous(t *testing.T) {
	store, _, _ := NewStore(t)
	var records []evidence.ArtifactRecord
	for i := range 51 {
		records = append(records, ArtifactRecord("f", "t", Sha(fmt.Sprintf("abcde%02x", i), 64), Sha("1", 40), float64(i)))
	}
	PutArtifacts(t, store, records[:50]...)
	if _, err := store.Artifacts.Latest(t.Context(), "org", "f", "", "abcde"); err != nil {
		t.Errorf("50: %v", err)
	}
	if _, err := store.Artifacts.Search(t.Context(), "org", "abcde"); err != nil {
		t.Errorf("search of 50: %v", err)
	}
	PutArtifacts(t, store, records[50])
	if _, err := store.Artifacts.Latest(t.Context(), "org", "f", "", "abcde"); !errors.Is(err, storage.ErrAmbiguous) {
		t.Errorf("51: %v", err)
	}
	if _, err := store.Artifacts.Search(t.Context(), "org", "abcde"); !errors.Is(err, storage.ErrAmbiguous) {
		t.Errorf("search of 51: %v", err)
	}
}

func TestSearchFindsFingerprintsAndCommits(t *testing.T) {
	store, _, _ := NewStore(t)
	byFingerprint := ArtifactRecord("f", "t", Sha("abcde2", 64), Sha("1", 40), 1)
	byCommit := ArtifactRecord("f", "t", Sha("2", 64), Sha("abcde", 40), 2)
	repeated := ArtifactRecord("f", "u", Sha("2", 64), Sha("abcde", 40), 3)
	elsewhere := ArtifactRecord("g", "t", Sha("2", 64), Sha("abcde", 40), 4)
	foreign := ArtifactRecord("f", "t", Sha("abcde1", 64), Sha("1", 40), 5)
	foreign.Org = "other"
	PutArtifacts(t, store, byFingerprint, byCommit, repeated, elsewhere, foreign)
	traces, err := store.Artifacts.Search(t.Context(), "org", "abcde")
	if err != nil || !slices.Equal(traces.Fingerprints, []string{byFingerprint.Fingerprint}) ||
		!slices.Equal(traces.Commits, []string{byCommit.CommitSHA}) ||
		!slices.Equal(traces.Records, []string{elsewhere.ID, repeated.ID, byFingerprint.ID}) {
		t.Errorf("traces %+v, %v", traces, err)
	}
	whole, err := store.Artifacts.Search(t.Context(), "org", byCommit.CommitSHA)
	if err != nil || len(whole.Records) != 2 || len(whole.Fingerprints) != 0 {
		t.Errorf("a whole commit: %+v, %v", whole, err)
	}
	if none, err := store.Artifacts.Search(t.Context(), "org", "abcdf"); err != nil || len(none.Records) != 0 {
		t.Errorf("nothing: %+v, %v", none, err)
	}
}

func TestArtifactsOfACommitAreNewestFirst(t *testing.T) {
	store, _, _ := NewStore(t)
	first := ArtifactRecord("f", "t1", Sha("1", 64), Sha("abcde1", 40), 1)
	second := ArtifactRecord("f", "t2", Sha("2", 64), Sha("abcde1", 40), 2)
	alike := ArtifactRecord("f", "t1", Sha("3", 64), Sha("abcde0", 40), 3)
	elsewhere := ArtifactRecord("g", "t1", Sha("1", 64), Sha("abcde1", 40), 4)
	PutArtifacts(t, store, first, second, alike, elsewhere)
	for name, c := range map[string]struct {
		trail, commit string
		limit         int
		want          []string
	}{
		"whole":      {"", first.CommitSHA, 9, []string{second.ID, first.ID}},
		"limited":    {"", first.CommitSHA, 1, []string{second.ID}},
		"in a trail": {"t1", first.CommitSHA, 9, []string{first.ID}},
		"shortened":  {"", "abcde", 9, []string{alike.ID, second.ID, first.ID}},
		"both":       {"t1", "abcde", 1, []string{alike.ID}},
		"too short":  {"", "abcd", 9, nil},
		"unknown":    {"", Sha("2", 40), 9, nil},
	} {
		found, err := store.Artifacts.OfCommit(t.Context(), "org", "f", c.trail, c.commit, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, record := range AllOf(t, found) {
			ids = append(ids, record.ID)
		}
		if !slices.Equal(ids, c.want) {
			t.Errorf("%s: %v; want %v", name, ids, c.want)
		}
	}
}

func TestLatestIsNarrowedByBranch(t *testing.T) {
	store, _, _ := NewStore(t)
	old := ArtifactRecord("f", "t", Sha("1", 64), Sha("a", 40), 1)
	latest := ArtifactRecord("f", "t", Sha("1", 64), Sha("b", 40), 2)
	other := ArtifactRecord("f", "t", Sha("2", 64), Sha("c", 40), 3)
	latest.Commit.Branch, other.Commit.Branch = new("dev"), new("dev")
	PutArtifacts(t, store, old, latest, other)
	for name, c := range map[string]struct{ branch, digits, want string }{
		"any branch":       {"", old.Fingerprint, latest.ID},
		"its branch":       {"main", old.Fingerprint, old.ID},
		"shortened":        {"main", old.Fingerprint[:5], old.ID},
		"no such branch":   {"x", old.Fingerprint, ""},
		"not of the other": {"main", other.Fingerprint, ""},
	} {
		found, err := store.Artifacts.LatestOnBranch(t.Context(), "org", "f", c.branch, c.digits)
		if found.ID != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q, %v; want %q", name, found.ID, err, c.want)
		}
	}
	for branch, want := range map[string]string{"": other.ID, "main": old.ID, "x": ""} {
		found, err := store.Artifacts.LatestOfFlow(t.Context(), "org", "f", branch)
		if found.ID != want || (err != nil) != (want == "") {
			t.Errorf("flow on %q: %q, %v; want %q", branch, found.ID, err, want)
		}
	}
}

func TestTrailsWithAFingerprintComeLastReportedFirst(t *testing.T) {
	store, _, _ := NewStore(t)
	fingerprint := Sha("1", 64)
	PutArtifacts(t, store,
		ArtifactRecord("f", "a", fingerprint, "", 1), ArtifactRecord("f", "b", fingerprint, "", 2),
		ArtifactRecord("g", "a", fingerprint, "", 3), ArtifactRecord("f", "a", fingerprint, "", 4),
		ArtifactRecord("f", "c", Sha("2", 64), "", 5))
	keys, err := store.Artifacts.TrailsWith(t.Context(), "org", fingerprint)
	if err != nil || !slices.Equal(keys, []string{"f/a", "g/a", "f/b"}) {
		t.Errorf("got %v, %v", keys, err)
	}
}
