package pipelines_test

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"attestry/app/apptest"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/storage"
)

func repoInfo(name string) evidence.RepoInfo {
	return evidence.RepoInfo{Name: name, ID: new("id of " + name), URL: "https://github.com/" + name, Provider: new("github")}
}

func TestSimultaneousFirstReportsCreateOneRepo(t *testing.T) {
	store, _, clock := apptest.NewStore(t)
	at := evidence.Seconds(clock.Now())
	ids := make([]string, 1000)
	var reports sync.WaitGroup
	for i := range ids {
		reports.Go(func() {
			repo, err := store.Repos.Report(t.Context(), "org", repoInfo("acme/cli"), at)
			evidencetest.Check(t, err)
			ids[i] = repo.ID
		})
	}
	reports.Wait()
	repos, err := store.Repos.List(t.Context(), "org")
	if err != nil || len(repos) != 1 {
		t.Fatalf("%d repos, %v", len(repos), err)
	}
	for _, id := range ids {
		if id != repos[0].ID {
			t.Fatalf("a report was told of %q, the repo is %q", id, repos[0].ID)
		}
	}
}

func TestCachedReportOfARepoCostsNoCommand(t *testing.T) {
	store, docs, clock := apptest.NewStore(t)
	report := func(org string, info evidence.RepoInfo) evidence.Repo {
		t.Helper()
		repo, err := store.Repos.Report(t.Context(), org, info, evidence.Seconds(clock.Now()))
		evidencetest.Must(t, err)
		return repo
	}
	first := report("org", repoInfo("acme/cli"))
	before := docs.Snapshot().Commands()
	if again := report("org", repoInfo("acme/cli")); again.ID != first.ID || again.Name != "acme/cli" {
		t.Errorf("got %+v", again)
	}
	if spent := docs.Snapshot().Commands() - before; spent != 0 {
		t.Errorf("a warm report cost %d commands", spent)
	}
	clock.Advance(59 * time.Second)
	report("org", repoInfo("acme/cli"))
	if spent := docs.Snapshot().Commands() - before; spent != 0 {
		t.Errorf("a report within the minute cost %d commands", spent)
	}
	// Reports of another organization or with other info are looked up.
	if other := report("other", repoInfo("acme/cli")); other.ID == first.ID || other.Org != "other" {
		t.Errorf("another organization got %+v", other)
	}
	renamed := repoInfo("acme/cli")
	renamed.Name = "acme/client"
	if got := report("org", renamed); got.ID != first.ID || got.Name != "acme/client" {
		t.Errorf("renamed: %+v", got)
	}
	clock.Advance(time.Minute)
	before = docs.Snapshot().Commands()
	if got := report("org", renamed); got.LastModifiedAt != evidence.Seconds(clock.Now()) {
		t.Errorf("a minute later: %+v", got)
	}
	if spent := docs.Snapshot().Commands() - before; spent == 0 {
		t.Error("a report a minute later did not look")
	}
}

// reportedBy returns the info of the repository with the external id 42 on a host, without a provider if that is "".
func reportedBy(provider, host string) evidence.RepoInfo {
	info := evidence.RepoInfo{Name: "acme/cli", ID: new("42"), URL: "https://" + host + "/acme/cli"}
	if provider != "" {
		info.Provider = &provider
	}
	return info
}

func TestReportsWithoutAProviderJoinTheRepoOfTheirExternalIDAndHost(t *testing.T) {
	const hub, lab = "github.com", "gitlab.com"
	type report struct{ provider, host string }
	for name, c := range map[string]struct {
		reports []report
		// same has for each report the index of the first report of the same repository.
		same      []int
		providers []string // of the repositories, in order of creation
	}{
		"with a provider, then without":       {[]report{{"github", hub}, {"", hub}}, []int{0, 0}, []string{"github"}},
		"without a provider, then with":       {[]report{{"", hub}, {"github", hub}, {"", hub}, {"github", hub}}, []int{0, 0, 0, 0}, []string{"github"}},
		"always without":                      {[]report{{"", hub}, {"", hub}}, []int{0, 0}, []string{""}},
		"always without, on two hosts":        {[]report{{"", hub}, {"", lab}, {"", hub}}, []int{0, 1, 0}, []string{"", ""}},
		"known by two providers, the first":   {[]report{{"github", hub}, {"gitlab", lab}, {"", hub}}, []int{0, 1, 0}, []string{"github", "gitlab"}},
		"known by two providers, the second":  {[]report{{"github", hub}, {"gitlab", lab}, {"", lab}}, []int{0, 1, 1}, []string{"github", "gitlab"}},
		"known by two providers on one host":  {[]report{{"github", hub}, {"git", hub}, {"", hub}}, []int{0, 1, 0}, []string{"github", "git"}},
		"known elsewhere only":                {[]report{{"github", hub}, {"", lab}, {"gitlab", lab}}, []int{0, 1, 1}, []string{"github", "gitlab"}},
		"a provider that has one already":     {[]report{{"", hub}, {"gitlab", lab}, {"gitlab", hub}}, []int{0, 1, 1}, []string{"", "gitlab"}},
		"claimed by another provider already": {[]report{{"", hub}, {"git", hub}, {"github", hub}, {"git", hub}}, []int{0, 0, 2, 0}, []string{"git", "github"}},
		"moved with its provider":             {[]report{{"github", hub}, {"github", lab}}, []int{0, 0}, []string{"github"}},
	} {
		t.Run(name, func(t *testing.T) {
			store, _, _ := apptest.NewStore(t)
			var ids []string
			for i, report := range c.reports {
				repo, err := store.Repos.Report(t.Context(), "org", reportedBy(report.provider, report.host), float64(1000+i))
				evidencetest.Must(t, err)
				ids = append(ids, repo.ID)
				if first := slices.Index(ids, repo.ID); first != c.same[i] {
					t.Errorf("report %d is of the repository of report %d, want %d", i, first, c.same[i])
				}
			}
			repos, err := store.Repos.List(t.Context(), "org")
			evidencetest.Must(t, err)
			providers := evidence.Map(repos, func(repo evidence.Repo) string { return repo.Provider })
			if !slices.Equal(providers, c.providers) {
				t.Errorf("the repositories have the providers %q, want %q", providers, c.providers)
			}
		})
	}
}

func TestConcurrentReportsWithAndWithoutAProviderMakeOneRepo(t *testing.T) {
	store, _, _ := apptest.NewStore(t)
	ids := make([]string, 300)
	var reports sync.WaitGroup
	for i := range ids {
		provider := [...]string{"", "github", "gitlab"}[i%3]
		host := map[string]string{"gitlab": "gitlab.com"}[provider]
		reports.Go(func() {
			repo, err := store.Repos.Report(t.Context(), "org", reportedBy(provider, cmp.Or(host, "github.com")), 1000)
			evidencetest.Check(t, err)
			ids[i] = repo.ID
		})
	}
	reports.Wait()
	repos, err := store.Repos.List(t.Context(), "org")
	if err != nil || len(repos) != 2 {
		t.Fatalf("%d repos, %v; want one at each provider", len(repos), err)
	}
	for i, id := range ids {
		want := ids[i%3]
		if i%3 == 0 {
			want = ids[1]
		}
		if id != want {
			t.Fatalf("report %d was told of %q, want %q", i, id, want)
		}
	}
}

func TestUncachedReportOfAKnownRepoCostsTwoCommands(t *testing.T) {
	store, docs, clock := apptest.NewStore(t)
	for _, provider := range []string{"github", ""} {
		if _, err := store.Repos.Report(t.Context(), "org", reportedBy(provider, "github.com"), evidence.Seconds(clock.Now())); err != nil {
			t.Fatal(err)
		}
	}
	for _, provider := range []string{"github", ""} {
		clock.Advance(2 * time.Minute)
		before := docs.Snapshot().Commands()
		if _, err := store.Repos.Report(t.Context(), "org", reportedBy(provider, "github.com"), evidence.Seconds(clock.Now())); err != nil {
			t.Fatal(err)
		}
		if spent := docs.Snapshot().Commands() - before; spent != 2 {
			t.Errorf("provider %q: %d commands, want a read and a write", provider, spent)
		}
	}
}

func TestRepoHasTheNameOfItsLastReport(t *testing.T) {
	store, _, _ := apptest.NewStore(t)
	for _, name := range []string{"acme/one", "acme/two", "acme/one"} {
		info := reportedBy("github", "github.com")
		info.Name = name
		repo, err := store.Repos.Report(t.Context(), "org", info, 1000)
		evidencetest.Must(t, err)
		if stored, err := store.Repos.Get(t.Context(), "org", repo.ID); err != nil || stored.Name != name {
			t.Errorf("reported as %s, it is %s, %v", name, stored.Name, err)
		}
	}
}

func TestInfoWithoutNameOrURLMakesNoRepo(t *testing.T) {
	store, docs, _ := apptest.NewStore(t)
	for _, info := range []evidence.RepoInfo{{Name: "acme/cli"}, {URL: "https://github.com/acme/cli"}, {}} {
		repo, err := store.Repos.Report(t.Context(), "org", info, 1)
		if err != nil || repo.ID != "" {
			t.Errorf("%+v made %+v, %v", info, repo, err)
		}
	}
	if docs.Snapshot().Commands() != 0 {
		t.Error("it cost commands")
	}
}

func TestReposAreFoundInTheirOrganizationOnly(t *testing.T) {
	store, _, _ := apptest.NewStore(t)
	ctx := t.Context()
	github, gitlab := repoInfo("acme/cli"), repoInfo("acme/cli")
	gitlab.Provider = new("gitlab")
	first, err := store.Repos.Report(ctx, "org", github, 1000)
	evidencetest.Must(t, err)
	second, err := store.Repos.Report(ctx, "org", gitlab, 2000)
	evidencetest.Must(t, err)
	named, err := store.Repos.Named(ctx, "org", "acme/cli")
	if err != nil || len(named) != 2 || first.ID == second.ID {
		t.Errorf("named %+v, %v; want both", named, err)
	}
	if named, err := store.Repos.Named(ctx, "other", "acme/cli"); err != nil || len(named) != 0 {
		t.Errorf("another organization sees %+v, %v", named, err)
	}
	if _, err := store.Repos.Get(ctx, "other", first.ID); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("another organization gets it: %v", err)
	}
	if found, err := store.Repos.GetMany(ctx, "other", []string{first.ID}); err != nil || len(found) != 0 {
		t.Errorf("another organization gets %+v, %v", found, err)
	}
	found, err := store.Repos.GetMany(ctx, "org", []string{first.ID, "unknown"})
	if err != nil || len(found) != 1 || found[first.ID].URL != github.URL {
		t.Errorf("got %+v, %v", found, err)
	}
}

func TestTagsOfARepoAreRemovedThenSet(t *testing.T) {
	store, _, clock := apptest.NewStore(t)
	ctx := t.Context()
	repo, err := store.Repos.Report(ctx, "org", repoInfo("acme/cli"), 1000)
	evidencetest.Must(t, err)
	set := func(set map[string]string, remove ...string) {
		t.Helper()
		evidencetest.Must(t, store.Repos.SetTags(ctx, "org", repo.ID, set, remove))
	}
	set(map[string]string{"team": "tools", "tier": "1"})
	set(map[string]string{"team": "core"}, "team", "tier", "absent")
	clock.Advance(2 * time.Minute)
	if _, err := store.Repos.Report(ctx, "org", repoInfo("acme/cli"), 1120); err != nil {
		t.Fatal(err)
	}
	got, err := store.Repos.Get(ctx, "org", repo.ID)
	if err != nil || !maps.Equal(got.Tags, map[string]string{"team": "core"}) || got.LastModifiedAt != 1120 {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, c := range [][2]string{{"other", repo.ID}, {"org", "unknown"}} {
		if err := store.Repos.SetTags(ctx, c[0], c[1], map[string]string{"a": "b"}, nil); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("%v: %v", c, err)
		}
	}
}
