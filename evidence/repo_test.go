package evidence

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"
)

func TestRepoIDIsMadeFromTheExternalIDOrElseFromProviderAndName(t *testing.T) {
	known := RepoInfo{Name: "acme/cli", ID: new("42"), URL: "https://github.com/acme/cli", Provider: new("github")}
	id := known.RepoID("org", 0)
	if !regexp.MustCompile(`^[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{8}$`).MatchString(id) {
		t.Errorf("id %q", id)
	}
	renamed, elsewhere := known, known
	renamed.Name, renamed.URL = "acme/client", "https://github.com/acme/client"
	elsewhere.Provider = nil
	if renamed.RepoID("org", 0) != id || elsewhere.RepoID("org", 0) != id {
		t.Error("reports with the same external id compete for different ids")
	}
	nameless, empty := known, known
	nameless.ID, empty.ID = nil, new("")
	if nameless.RepoID("org", 0) != empty.RepoID("org", 0) {
		t.Error("an empty external id counts as one")
	}
	named42, atGitLab := nameless, nameless
	named42.Name = "42"
	atGitLab.Provider = new("gitlab")
	ids := map[string]string{
		known.RepoID("org", 0): "with an external id",
	}
	for what, other := range map[string]string{
		"of the next ordinal":                 known.RepoID("org", 1),
		"without an external id":              nameless.RepoID("org", 0),
		"of that name":                        named42.RepoID("org", 0),
		"of another provider, without the id": atGitLab.RepoID("org", 0),
		"of another org":                      known.RepoID("other", 0),
	} {
		if same, ok := ids[other]; ok {
			t.Errorf("the repositories %s and %s have one id", what, same)
		}
		ids[other] = what
	}
}

func TestRepoMatchesReportsByProviderOrElseByHost(t *testing.T) {
	info := func(provider, url string) RepoInfo {
		return RepoInfo{Name: "acme/cli", ID: new("42"), URL: url, Provider: &provider}
	}
	const hub, renamed, lab = "https://github.com/acme/cli", "git@GitHub.com:acme/client.git", "https://gitlab.com/acme/cli"
	for name, c := range map[string]struct {
		known, reported RepoInfo
		want            RepoMatch
	}{
		"one provider":                          {info("github", hub), info("github", hub), SameRepo},
		"one provider, which has moved":         {info("gitlab", "https://old.example.com/a"), info("gitlab", lab), SameRepo},
		"two providers":                         {info("github", hub), info("gitlab", lab), OtherRepo},
		"two providers on one host":             {info("git", hub), info("github", hub), OtherRepo},
		"provider not reported":                 {info("github", hub), info("", hub), SameRepo},
		"provider not reported, renamed":        {info("github", hub), info("", renamed), SameRepo},
		"provider not reported, another host":   {info("github", hub), info("", lab), OtherRepo},
		"provider not known":                    {info("", hub), info("github", hub), AdoptableRepo},
		"provider not known, another host":      {info("", hub), info("gitlab", lab), OtherRepo},
		"provider neither known nor reported":   {info("", hub), info("", renamed), SameRepo},
		"neither, another host":                 {info("", hub), info("", lab), OtherRepo},
		"neither, addresses without a host":     {info("", "acme/cli"), info("", "acme/cli"), SameRepo},
		"neither, other address without a host": {info("", "acme/cli"), info("", "acme/web"), OtherRepo},
	} {
		t.Run(name, func(t *testing.T) {
			repo := NewRepo("org", c.known, 0, 1000)
			if got := repo.Match(c.reported); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestRepoGetsItsProviderFromTheFirstReportThatHasOne(t *testing.T) {
	info := RepoInfo{Name: "acme/cli", ID: new("42"), URL: "https://github.com/acme/cli"}
	repo := NewRepo("org", info, 0, 1000)
	info.Provider = new("github")
	repo.Apply(info, 1030)
	if repo.Provider != "github" || repo.LastModifiedAt != 1030 {
		t.Errorf("got %+v", repo)
	}
	info.Provider = nil
	repo.Apply(info, 1040)
	if repo.Provider != "github" {
		t.Error("a report without a provider cleared it")
	}
	late := NewRepo("org", info, 0, 1000)
	info.Provider = new("github")
	late.Apply(info, 900)
	if late.Provider != "github" || late.LastModifiedAt != 1000 {
		t.Errorf("an older report made it %+v", late)
	}
}

func TestLaterReportUpdatesTheRepo(t *testing.T) {
	info := RepoInfo{
		Name: "acme/cli", URL: "https://github.com/acme/cli", Description: new("a client"),
		NamespacePath: []string{"group"}, AdditionalInfo: json.RawMessage(`{"a":1,"b":2}`),
	}
	repo := NewRepo("org", info, 0, 1000)
	repo.Apply(RepoInfo{Name: info.Name, URL: info.URL, AdditionalInfo: json.RawMessage(`{"b":2, "a":1}`)}, 1059)
	if repo.LastModifiedAt != 1000 || *repo.Description != "a client" || !slices.Equal(repo.NamespacePath, []string{"group"}) {
		t.Errorf("within a minute: %+v", repo)
	}
	repo.Apply(info, 1060)
	if repo.LastModifiedAt != 1060 {
		t.Errorf("a minute later: %+v", repo)
	}
	repo.Apply(RepoInfo{Name: "acme/client", URL: info.URL}, 1061)
	if repo.Name != "acme/client" || repo.LastModifiedAt != 1061 || repo.NamespacePath != nil {
		t.Errorf("renamed: %+v", repo)
	}
	repo.Apply(info, 1030)
	if repo.Name != "acme/client" {
		t.Error("an older report brought the old name back")
	}
	if repo.CreatedAt != 1000 {
		t.Errorf("created at %v", repo.CreatedAt)
	}
}

func TestNamespaceIsReportedOrElseTheBeginningOfTheName(t *testing.T) {
	for _, c := range []struct {
		name     string
		reported []string
		want     []string
	}{
		{"differ", nil, nil},
		{"cyber-dojo/differ", nil, []string{"cyber-dojo"}},
		{"a/b/c", []string{}, []string{"a", "b"}},
		{"differ", []string{"platform", "backend"}, []string{"platform", "backend"}},
	} {
		repo := Repo{Name: c.name, NamespacePath: c.reported}
		if got := repo.Namespace(); !slices.Equal(got, c.want) {
			t.Errorf("%s %v: %v, want %v", c.name, c.reported, got, c.want)
		}
	}
	repo := Repo{Name: "differ", NamespacePath: []string{"platform", "backend"}}
	for path, want := range map[string]bool{"platform": true, "platform/backend": true, "plat": false, "backend": false, "platform/backend/x": false} {
		if got := repo.Within(regexp.MustCompile("/").Split(path, -1)); got != want {
			t.Errorf("within %s: %v", path, got)
		}
	}
	if !repo.Within(nil) {
		t.Error("not within the whole")
	}
}

func TestInstanceIsTheHostOfTheAddress(t *testing.T) {
	for address, want := range map[string]string{
		"https://github.com/acme/cli":            "github.com",
		"https://GitHub.com/acme/cli":            "github.com",
		"https://gitlab.company.com:8443/a/b":    "gitlab.company.com:8443",
		"https://user:secret@git.example.com/a":  "git.example.com",
		"git@github.com:acme/cli.git":            "github.com",
		"ssh://git@git.example.com/acme/cli.git": "git.example.com",
		"acme/cli":                               "",
		"mail me@home/about: it":                 "",
		"":                                       "",
		"%zz":                                    "",
	} {
		repo := Repo{URL: address}
		if got := repo.Instance(); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}
