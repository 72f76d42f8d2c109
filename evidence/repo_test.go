package evidence

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"
)

func TestRepoIsKnownByItsExternalIDElseByItsName(t *testing.T) {
	known := RepoInfo{Name: "acme/cli", ID: new("42"), URL: "https://github.com/acme/cli", Provider: new("github")}
	id := known.RepoID("org")
	if !regexp.MustCompile(`^[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{8}$`).MatchString(id) {
		t.Errorf("id %q", id)
	}
	renamed := known
	renamed.Name, renamed.URL = "acme/client", "https://github.com/acme/client"
	if renamed.RepoID("org") != id {
		t.Error("a rename at the provider makes another repository")
	}
	nameless, empty := known, known
	nameless.ID, empty.ID = nil, new("")
	if nameless.RepoID("org") != empty.RepoID("org") {
		t.Error("an empty external id counts as one")
	}
	named42 := nameless
	named42.Name = "42"
	elsewhere := known
	elsewhere.Provider = new("gitlab")
	for what, other := range map[string]string{
		"without an external id": nameless.RepoID("org"),
		"of that name":           named42.RepoID("org"),
		"of another provider":    elsewhere.RepoID("org"),
		"of another org":         known.RepoID("other"),
	} {
		if other == id {
			t.Errorf("the repository %s is the same", what)
		}
	}
}

func TestRepoTakesInWhatALaterReportTells(t *testing.T) {
	info := RepoInfo{
		Name: "acme/cli", URL: "https://github.com/acme/cli", Description: new("a client"),
		NamespacePath: []string{"group"}, AdditionalInfo: json.RawMessage(`{"a":1,"b":2}`),
	}
	repo := NewRepo("org", info, 1000)
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

func TestNamespaceIsTheReportedOneElseTheFrontOfTheName(t *testing.T) {
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
