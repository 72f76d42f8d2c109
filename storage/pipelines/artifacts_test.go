package pipelines_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/pipelines"
)

func TestArtifactsAreListedNewestFirst(t *testing.T) {
	store, _, _ := apptest.NewStore(t)
	one := apptest.ArtifactRecord("f1", "t", apptest.Sha("1", 64), apptest.Sha("a", 40), 1)
	two := apptest.ArtifactRecord("f2", "t", apptest.Sha("2", 64), apptest.Sha("a", 40), 2)
	three := apptest.ArtifactRecord("f1", "t", apptest.Sha("3", 64), apptest.Sha("a", 40), 3)
	foreign := apptest.ArtifactRecord("f1", "t", apptest.Sha("4", 64), apptest.Sha("a", 40), 4)
	two.Repo, three.Repo, foreign.Org = "r", "r", "other"
	apptest.PutArtifacts(t, store, one, two, three, foreign)
	for name, c := range map[string]struct {
		query pipelines.ArtifactQuery
		want  []string
	}{
		"all":          {pipelines.ArtifactQuery{Limit: 9}, []string{three.ID, two.ID, one.ID}},
		"flow":         {pipelines.ArtifactQuery{Flow: "f1", Limit: 9}, []string{three.ID, one.ID}},
		"repo":         {pipelines.ArtifactQuery{Repo: "r", Limit: 9}, []string{three.ID, two.ID}},
		"flow of repo": {pipelines.ArtifactQuery{Repo: "r", Flow: "f2", Limit: 9}, []string{two.ID}},
		"second page":  {pipelines.ArtifactQuery{Offset: 1, Limit: 1}, []string{two.ID}},
		"beyond":       {pipelines.ArtifactQuery{Offset: 3, Limit: 9}, nil},
	} {
		c.query.Org = "org"
		found := apptest.AllOf(t, store.Artifacts.List(c.query))
		ids := evidence.Map(found, func(record evidence.ArtifactRecord) string { return record.ID })
		if !slices.Equal(ids, c.want) {
			t.Errorf("%s: %v; want %v", name, ids, c.want)
		}
	}
}

func TestArtifactsBeyondTheScanOfOneCommandAreListed(t *testing.T) {
	store, _, _ := apptest.NewStore(t)
	records := make([]evidence.ArtifactRecord, storage.MaxScan+20)
	for i := range records {
		records[i] = apptest.ArtifactRecord("f", "t", apptest.Sha("1", 64), "", float64(i))
	}
	apptest.PutArtifacts(t, store, records...)
	found := apptest.AllOf(t, store.Artifacts.List(pipelines.ArtifactQuery{Org: "org", Offset: storage.MaxScan + 15, Limit: 15}))
	if len(found) != 5 || found[0].CreatedAt != 4 {
		t.Fatalf("%d found", len(found))
	}
}

func TestFingerprintPrefixFindsTheNewestMatch(t *testing.T) {
	store, _, _ := apptest.NewStore(t)
	old := apptest.ArtifactRecord("f", "t1", apptest.Sha("abcde9", 64), apptest.Sha("1", 40), 1)
	latest := apptest.ArtifactRecord("f", "t1", apptest.Sha("abcde1", 64), apptest.Sha("1", 40), 3)
	again := apptest.ArtifactRecord("f", "t2", apptest.Sha("abcde9", 64), apptest.Sha("1", 40), 2)
	elsewhere := apptest.ArtifactRecord("g", "t", apptest.Sha("abcde5", 64), apptest.Sha("1", 40), 9)
	unlike := apptest.ArtifactRecord("f", "t", apptest.Sha("abcdf", 64), apptest.Sha("1", 40), 8)
	apptest.PutArtifacts(t, store, old, latest, again, elsewhere, unlike)
	for name, c := range map[string]struct{ trail, digits, want string }{
		"five digits":       {"", "abcde", latest.ID},
		"six digits":        {"", "abcde9", again.ID},
		"whole":             {"", old.Fingerprint, again.ID},
		"in a trail":        {"t1", "abcde", latest.ID},
		"whole in a trail":  {"t1", old.Fingerprint, old.ID},
		"in another trail":  {"t2", "abcde", again.ID},
		"in no such trail":  {"t3", "abcde", ""},
		"unknown":           {"", "abcdd", ""},
		"whole and unknown": {"", apptest.Sha("abcdd", 64), ""},
	} {
		found, err := store.Artifacts.Latest(t.Context(), "org", "f", c.trail, c.digits)
		if found.ID != c.want || (err != nil) != (c.want == "") || err != nil && !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("%s: %q, %v; want %q", name, found.ID, err, c.want)
		}
	}
}

func TestRepeatedlyReportedFingerprintHidesNoOther(t *testing.T) {
	store, docs, _ := apptest.NewStore(t)
	var records []evidence.ArtifactRecord
	for i := range 2500 {
		records = append(records, apptest.ArtifactRecord("f", "t", apptest.Sha("abcde9", 64), apptest.Sha("c", 40), float64(i)))
	}
	latest := apptest.ArtifactRecord("f", "t", apptest.Sha("abcde1", 64), apptest.Sha("c", 40), 9000)
	apptest.PutArtifacts(t, store, append(records, latest)...)
	before := docs.Snapshot().Commands()
	found, err := store.Artifacts.Latest(t.Context(), "org", "f", "", "abcde")
	if err != nil || found.ID != latest.ID {
		t.Errorf("found %+v, %v", found, err)
	}
	if spent := docs.Snapshot().Commands() - before; spent > 3 {
		t.Errorf("it took %d commands", spent)
	}
	traces, err := store.Artifacts.Search(t.Context(), "org", "abcde")
	if err != nil || len(traces.Fingerprints) != 2 || len(traces.Records) != 2 || traces.Records[0] != latest.ID {
		t.Errorf("traces %+v, %v", traces, err)
	}
}

func TestPrefixOfTooManyFingerprintsIsAmbiguous(t *testing.T) {
	store, _, _ := apptest.NewStore(t)
	var records []evidence.ArtifactRecord
	for i := range 51 {
		records = append(records, apptest.ArtifactRecord("f", "t", apptest.Sha(fmt.Sprintf("abcde%02x", i), 64), apptest.Sha("1", 40), float64(i)))
	}
	apptest.PutArtifacts(t, store, records[:50]...)
	if _, err := store.Artifacts.Latest(t.Context(), "org", "f", "", "abcde"); err != nil {
		t.Errorf("50: %v", err)
	}
	if _, err := store.Artifacts.Search(t.Context(), "org", "abcde"); err != nil {
		t.Errorf("search of 50: %v", err)
	}
	apptest.PutArtifacts(t, store, records[50])
	if _, err := store.Artifacts.Latest(t.Context(), "org", "f", "", "abcde"); !errors.Is(err, storage.ErrAmbiguous) {
		t.Errorf("51: %v", err)
	}
	if _, err := store.Artifacts.Search(t.Context(), "org", "abcde"); !errors.Is(err, storage.ErrAmbiguous) {
		t.Errorf("search of 51: %v", err)
	}
}

func TestSearchFindsFingerprintsAndCommits(t *testing.T) {
	store, _, _ := apptest.NewStore(t)
	byFingerprint := apptest.ArtifactRecord("f", "t", apptest.Sha("abcde2", 64), apptest.Sha("1", 40), 1)
	byCommit := apptest.ArtifactRecord("f", "t", apptest.Sha("2", 64), apptest.Sha("abcde", 40), 2)
	repeated := apptest.ArtifactRecord("f", "u", apptest.Sha("2", 64), apptest.Sha("abcde", 40), 3)
	elsewhere := apptest.ArtifactRecord("g", "t", apptest.Sha("2", 64), apptest.Sha("abcde", 40), 4)
	foreign := apptest.ArtifactRecord("f", "t", apptest.Sha("abcde1", 64), apptest.Sha("1", 40), 5)
	foreign.Org = "other"
	apptest.PutArtifacts(t, store, byFingerprint, byCommit, repeated, elsewhere, foreign)
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

// An artifact with many reports must not hide the flows of another one whose fingerprint begins with the same digits.
func TestSearchFindsAllFlowsBesideAnArtifactWithManyReports(t *testing.T) {
	store, _, _ := apptest.NewStore(t)
	var records []evidence.ArtifactRecord
	for i := range storage.MaxMany - 1 {
		records = append(records, apptest.ArtifactRecord("f", "t", apptest.Sha("abcde2", 64), apptest.Sha("1", 40), float64(i+1)))
	}
	for _, flow := range []string{"g", "h", "i"} {
		records = append(records, apptest.ArtifactRecord(flow, "t", apptest.Sha("abcde1", 64), apptest.Sha("1", 40), 5000))
	}
	apptest.PutArtifacts(t, store, records...)
	traces, err := store.Artifacts.Search(t.Context(), "org", "abcde")
	if err != nil || len(traces.Fingerprints) != 2 || len(traces.Records) != 4 {
		t.Errorf("%d fingerprints in %d flows, %v", len(traces.Fingerprints), len(traces.Records), err)
	}
}

func TestArtifactsOfACommitAreNewestFirst(t *testing.T) {
	store, _, _ := apptest.NewStore(t)
	first := apptest.ArtifactRecord("f", "t1", apptest.Sha("1", 64), apptest.Sha("abcde1", 40), 1)
	second := apptest.ArtifactRecord("f", "t2", apptest.Sha("2", 64), apptest.Sha("abcde1", 40), 2)
	alike := apptest.ArtifactRecord("f", "t1", apptest.Sha("3", 64), apptest.Sha("abcde0", 40), 3)
	elsewhere := apptest.ArtifactRecord("g", "t1", apptest.Sha("1", 64), apptest.Sha("abcde1", 40), 4)
	apptest.PutArtifacts(t, store, first, second, alike, elsewhere)
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
		"unknown":    {"", apptest.Sha("2", 40), 9, nil},
	} {
		found, err := store.Artifacts.OfCommit(t.Context(), "org", "f", c.trail, c.commit, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		ids := evidence.Map(apptest.AllOf(t, found), func(record evidence.ArtifactRecord) string { return record.ID })
		if !slices.Equal(ids, c.want) {
			t.Errorf("%s: %v; want %v", name, ids, c.want)
		}
	}
}

func TestLatestCanBeLimitedToABranch(t *testing.T) {
	store, _, _ := apptest.NewStore(t)
	old := apptest.ArtifactRecord("f", "t", apptest.Sha("1", 64), apptest.Sha("a", 40), 1)
	latest := apptest.ArtifactRecord("f", "t", apptest.Sha("1", 64), apptest.Sha("b", 40), 2)
	other := apptest.ArtifactRecord("f", "t", apptest.Sha("2", 64), apptest.Sha("c", 40), 3)
	latest.Commit.Branch, other.Commit.Branch = new("dev"), new("dev")
	apptest.PutArtifacts(t, store, old, latest, other)
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

func TestTrailsWithAFingerprintAreOrderedByLastReport(t *testing.T) {
	store, _, _ := apptest.NewStore(t)
	fingerprint := apptest.Sha("1", 64)
	apptest.PutArtifacts(t, store,
		apptest.ArtifactRecord("f", "a", fingerprint, "", 1), apptest.ArtifactRecord("f", "b", fingerprint, "", 2),
		apptest.ArtifactRecord("g", "a", fingerprint, "", 3), apptest.ArtifactRecord("f", "a", fingerprint, "", 4),
		apptest.ArtifactRecord("f", "c", apptest.Sha("2", 64), "", 5))
	keys, err := store.Artifacts.TrailsWith(t.Context(), "org", fingerprint)
	if err != nil || !slices.Equal(keys, []string{"f/a", "g/a", "f/b"}) {
		t.Errorf("got %v, %v", keys, err)
	}
	var repeated []evidence.ArtifactRecord
	for i := range storage.MaxMany + 1 {
		repeated = append(repeated, apptest.ArtifactRecord("f", "d", fingerprint, "", float64(6+i)))
	}
	apptest.PutArtifacts(t, store, repeated...)
	for beginning, want := range map[string][]string{fingerprint: {"f/d", "f/a", "f/b"}, apptest.Sha("2", 64)[:7]: {"f/c"}, apptest.Sha("3", 64): nil} {
		keys, err := store.Artifacts.TrailsInFlow(t.Context(), "org", "f", beginning)
		if err != nil || !slices.Equal(keys, want) {
			t.Errorf("of %s in a flow: %v, %v", beginning, keys, err)
		}
	}
}

func TestBuildsOfCommitsAreTheNewestRecords(t *testing.T) {
	store, docs, _ := apptest.NewStore(t)
	first, second, unbuilt := apptest.Sha("a", 40), apptest.Sha("b", 40), apptest.Sha("c", 40)
	old := apptest.ArtifactRecord("f1", "t", apptest.Sha("1", 64), first, 1)
	newer := apptest.ArtifactRecord("f2", "t", apptest.Sha("2", 64), first, 3)
	other := apptest.ArtifactRecord("f1", "t", apptest.Sha("3", 64), second, 2)
	foreign := apptest.ArtifactRecord("f1", "t", apptest.Sha("4", 64), unbuilt, 4)
	foreign.Org = "other"
	apptest.PutArtifacts(t, store, old, newer, other, foreign)
	docs.Reset()
	builds, err := store.Artifacts.Builds(t.Context(), "org", []string{first, second, unbuilt, first})
	if err != nil || len(builds) != 2 || builds[first].ID != newer.ID || builds[second].ID != other.ID {
		t.Errorf("got %v, %v", builds, err)
	}
	if n := docs.Snapshot().Commands(); n != 2 {
		t.Errorf("it took %d commands, want 2", n)
	}
	if builds, err := store.Artifacts.Builds(t.Context(), "org", nil); err != nil || len(builds) != 0 {
		t.Errorf("of no commits: %v, %v", builds, err)
	}
}
