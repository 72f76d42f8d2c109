package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
)

// reportRepo reports a repository along with an artifact and returns its internal id.
func (s *service) reportRepo(organization, name, provider, id, more string) string {
	s.t.Helper()
	info := fmt.Sprintf(`{"name":%q,"url":"https://%s.example.com/%s","provider":%q,"id":%q%s}`, name, provider, name, provider, id, more)
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+organization+"/repo-ci", fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":"app","build_url":"b","commit_url":"c","trail_name":"t","template_reference_name":"app","repo_info":%s}`,
		evidence.HashAPIKey(name+provider+id), info))
	for _, found := range s.listRepos(organization, "?per_page=50&repo_id="+url.QueryEscape(id)) {
		if lookup(s.t, found, "provider") == provider {
			return lookup(s.t, found, "id").(string)
		}
	}
	s.t.Fatalf("no repo %s came of its report", name)
	return ""
}

func (s *service) listRepos(organization, query string) []any {
	s.t.Helper()
	return lookup(s.t, s.read("/repos/"+organization+query), "repos").([]any)
}

func TestRepoIsReadByNameWithSlashesOrByID(t *testing.T) {
	t.Parallel()
	s := share(t)
	id := s.reportRepo(s.org, "cyber-dojo/differ", "github", "42", `,"description":"of a test"`)
	deep := s.reportRepo(s.org, "a/b/c", "gitlab", "43", "")
	shadowed := s.reportRepo(s.org, "tags", "github", "44", "")
	for path, want := range map[string]string{
		"/cyber-dojo/differ":                 id,
		"/cyber-dojo%2Fdiffer":               id,
		"/cyber-dojo/differ?provider=github": id,
		"/a/b/c":                             deep,
		"/a%2Fb/c":                           deep,
		"/whatever?id=" + id:                 id,
		"/" + id + "?id=" + id:               id,
		"/a/b/c?provider=gitlab&id=" + id:    id,
		"/a/b/c?provider=github&id=" + id:    id,
		"/x?id=" + shadowed:                  shadowed,
	} {
		t.Run(s.caseName(path), func(t *testing.T) {
			s := s.in(t)
			got := s.read("/repos/" + s.org + path)
			clientReads(t, "repo", got)
			if lookup(t, got, "id") != want {
				t.Errorf("got %s", asJSON(got))
			}
		})
	}
	got := s.read("/repos/" + s.org + "/cyber-dojo/differ")
	if lookup(t, got, "repo_id") != "42" || lookup(t, got, "description") != "of a test" || lookup(t, got, "url") != "https://github.example.com/cyber-dojo/differ" {
		t.Errorf("got %s", asJSON(got))
	}
	if when, err := time.Parse(time.RFC3339, lookup(t, got, "latest_activity").(string)); err != nil || time.Since(when).Abs() > time.Minute {
		t.Errorf("latest activity %v, %v", when, err)
	}
	self := strings.TrimPrefix(lookup(t, got, "_links", "self", "href").(string), s.URL+"/api/v2")
	if again := s.read(self); lookup(t, again, "id") != id {
		t.Errorf("its own link %s leads to %s", self, asJSON(again))
	}
	if head := s.do(http.MethodHead, "/api/v2/repos/"+s.org+"/cyber-dojo/differ", adminKey, nil); head.status != http.StatusOK || len(head.body) != 0 {
		t.Errorf("HEAD: %d %q", head.status, head.body)
	}
	for path, name := range map[string]string{
		"/differ":                           "differ",
		"/cyber-dojo/differ/":               "cyber-dojo/differ/",
		"/cyber-dojo//differ":               "cyber-dojo//differ",
		"/cyber-dojo/differ?provider=git":   "cyber-dojo/differ",
		"/cyber-dojo/differ?id=" + s.org:    s.org,
		"/live-artifacts":                   "live-artifacts",
		"/cyber-dojo/deployments":           "cyber-dojo/deployments",
		"/o%27connor/x":                     "o'connor/x",
		"/cyber-dojo/differ/filter-options": "cyber-dojo/differ/filter-options",
	} {
		t.Run(s.caseName(path), func(t *testing.T) {
			s := s.in(t)
			wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, "/repos/"+s.org+path, nil), "Repo '"+name+"' not found")
		})
	}
	s.want(http.StatusBadRequest, http.MethodGet, "/repos/"+s.org+"/cyber-dojo/differ?provider=", nil)
	s.want(http.StatusBadRequest, http.MethodGet, "/repos/"+s.org+"/a%00b", nil)
}

func TestRepoOfAnAmbiguousNameNeedsItsProvider(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	github, gitlab := s.reportRepo(s.org, "acme/cli", "github", "1", ""), s.reportRepo(s.org, "acme/cli", "gitlab", "1", "")
	if github == gitlab {
		t.Fatal("one repo for two providers")
	}
	wantMessage(t, s.want(http.StatusBadRequest, http.MethodGet, "/repos/"+s.org+"/acme/cli", nil),
		"Multiple repos named 'acme/cli' exist (github, gitlab). Specify the 'provider'")
	for provider, want := range map[string]string{"github": github, "gitlab": gitlab} {
		t.Run(provider, func(t *testing.T) {
			s := s.in(t)
			if got := lookup(t, s.read("/repos/"+s.org+"/acme/cli?provider="+provider), "id"); got != want {
				t.Errorf("%v, want %s", got, want)
			}
		})
	}
	// Within a provider the name refers to the newest repository, also when an older one is reported after it.
	s.clock.advance(time.Hour)
	successor := s.reportRepo(s.org, "acme/cli", "github", "2", "")
	s.clock.advance(time.Hour)
	s.reportRepo(s.org, "acme/cli", "github", "1", "")
	if got := lookup(t, s.read("/repos/"+s.org+"/acme/cli?provider=github"), "id"); got != successor {
		t.Errorf("got %v, want %s", got, successor)
	}
	// A repository that is renamed at its provider stays the same repository.
	if renamed := s.reportRepo(s.org, "acme/client", "gitlab", "1", ""); renamed != gitlab {
		t.Errorf("renamed, it is %s, not %s", renamed, gitlab)
	}
	s.want(http.StatusNotFound, http.MethodGet, "/repos/"+s.org+"/acme/cli?provider=gitlab", nil)
}

func TestOperationsRefuseAmbiguousRepoNames(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.createEnvironment("prod", evidence.Server)
	s.reportRepo(s.org, "acme/cli", "github", "1", "")
	s.clock.advance(time.Hour)
	s.reportRepo(s.org, "acme/cli", "github", "2", "")
	s.reportRepo(s.org, "other", "gitlab", "3", "")
	for name, path := range map[string]string{
		"get_repo":             "/repos/" + s.org + "/acme/cli?",
		"list_artifacts":       "/artifacts/" + s.org + "?repo_name=acme/cli",
		"list_builds":          "/builds/" + s.org + "?repo_name=acme/cli",
		"build_statistics":     "/builds/" + s.org + "/statistics?repo_name=acme/cli",
		"list_deployments":     "/deployments/" + s.org + "?repo_name=acme/cli",
		"get_env_events":       s.environmentsPath() + "/prod/events?repo_name=acme/cli",
		"several of its names": s.environmentsPath() + "/prod/events?repo_name=other&repo_name=acme/cli",
		"get_env_auditlog":     s.environmentsPath() + "/prod/auditlog?repo_names=acme/cli",
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			wantMessage(t, s.want(http.StatusBadRequest, http.MethodGet, path, nil),
				"Multiple repos named 'acme/cli' exist (github). Specify the 'provider'")
			if name != "several of its names" {
				s.want(http.StatusOK, http.MethodGet, path+"&provider=github", nil)
			}
			wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, path+"&provider=bitbucket", nil), "Repo 'acme/cli' not found")
			if _, errors := s.want(http.StatusBadRequest, http.MethodGet, path+"&provider=x", nil).problem(t); errors["query.provider"] == "" {
				t.Errorf("a provider that is none: %q", errors)
			}
		})
	}
	for list, want := range map[string]any{"/artifacts/" + s.org: evidence.HashAPIKey("acme/cligithub2"), "/builds/" + s.org: evidence.HashAPIKey("acme/cligithub2")} {
		t.Run(s.caseName(list), func(t *testing.T) {
			s := s.in(t)
			got := s.read(list + "?provider=github&repo_name=acme/cli")
			if builds, ok := got.(map[string]any); ok {
				got = builds["builds"]
			}
			if items := got.([]any); len(items) != 1 || lookup(t, items[0], "fingerprint") != want {
				t.Errorf("%s of the newest repository: %s", list, asJSON(got))
			}
		})
	}
}

func TestReportWithoutAProviderJoinsTheKnownRepo(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][2]string{
		"provider in the first report": {`,"provider":"github"`, ""},
		"provider in a later report":   {"", `,"provider":"github"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := share(t)
			s.want(http.StatusCreated, http.MethodPut, "/flows/"+s.org, []byte(`{"name":"ci","description":"","visibility":"private","template":["artifact"]}`))
			for i, provider := range order {
				s.wantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.org+"/ci", fmt.Sprintf(
					`{"name":"t%d","repo_info":{"name":"acme/cli","id":"42","url":"https://github.com/acme/cli"%s}}`, i, provider))
			}
			repos := s.listRepos(s.org, "")
			if len(repos) != 1 || lookup(t, repos[0], "provider") != "github" {
				t.Fatalf("the reports made %s", asJSON(repos))
			}
			for i := range order {
				trail := s.read(fmt.Sprintf("/trails/%s/ci/t%d", s.org, i))
				if ids := lookup(t, trail, "repo_ids").([]any); len(ids) != 1 || ids[0] != lookup(t, repos[0], "id") {
					t.Errorf("trail %d is of %s", i, asJSON(ids))
				}
			}
		})
	}
}

func TestReposAreFilteredSortedAndPaged(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.reportRepo(s.org, "platform/backend/api", "gitlab", "1", "")
	web := s.reportRepo(s.org, "platform/Web", "github", "2", "")
	s.reportRepo(s.org, "differ", "github", "3", `,"namespace_path":["cyber","dojo"]`)
	s.must(s.Process.Store.Repos.SetTags(t.Context(), s.orgID(), web, map[string]string{"team": "tools", "tier": "1"}, nil))
	for query, want := range map[string]string{
		"":                                 "differ platform/Web platform/backend/api",
		"?sort_direction=desc":             "platform/backend/api platform/Web differ",
		"?per_page=2":                      "differ platform/Web",
		"?page=2&per_page=2":               "platform/backend/api",
		"?page=9":                          "",
		"?name=differ":                     "differ",
		"?name=diff":                       "",
		"?name=":                           "differ platform/Web platform/backend/api",
		"?search=WEB":                      "platform/Web",
		"?search=":                         "differ platform/Web platform/backend/api",
		"?repo_id=2&name=differ":           "platform/Web",
		"?repo_id=9":                       "",
		"?repo_id=":                        "differ platform/Web platform/backend/api",
		"?provider=github":                 "differ platform/Web",
		"?vcs_instance=gitlab.example.com": "platform/backend/api",
		"?vcs_instance=GitLab.Example.com": "platform/backend/api",
		"?vcs_instance=example.com":        "",
		"?namespace=platform":              "platform/Web platform/backend/api",
		"?namespace=platform/backend/":     "platform/backend/api",
		"?namespace=plat":                  "",
		"?namespace=cyber/dojo":            "differ",
		"?tag=team":                        "platform/Web",
		"?tag=team:tools":                  "platform/Web",
		"?tag=team:core":                   "",
		"?tag=team:core&tag=tier:1":        "platform/Web",
		"?tag=":                            "",
		"?provider=github&search=d":        "differ",
	} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			if got := column(t, s.listRepos(s.org, query), "name"); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	page := s.read("/repos/" + s.org + "?page=2&per_page=2&sort_direction=asc")
	clientReads(t, "repos", page)
	if lookup(t, page, "page") != 2.0 || lookup(t, page, "per_page") != 2.0 || lookup(t, page, "total_pages") != 2.0 || lookup(t, page, "total_count") != 3.0 {
		t.Errorf("got %s", asJSON(page))
	}
	for _, relation := range []string{"self", "first", "prev", "last"} {
		if href := lookup(t, page, "_links", relation, "href").(string); !strings.HasPrefix(href, s.URL+"/api/v2/repos/"+s.org+"?") {
			t.Errorf("%s: %s", relation, href)
		}
	}
	if empty := s.read("/repos/" + s.org + "?name=none"); len(lookup(t, empty, "repos").([]any)) != 0 {
		t.Errorf("got %s", asJSON(empty))
	}
}

func TestBadFiltersOfReposAreNamed(t *testing.T) {
	t.Parallel()
	s := share(t)
	wantMessage(t, s.want(http.StatusBadRequest, http.MethodGet, "/repos/"+s.org+"?name=a&search=b", nil),
		"Specify either 'name' or 'search', not both")
}

func TestFilterOptionsHonourAllFiltersButTheirOwn(t *testing.T) {
	t.Parallel()
	s := share(t)
	tagged := s.reportRepo(s.org, "platform/backend/api", "gitlab", "1", "")
	s.reportRepo(s.org, "platform/web", "github", "2", "")
	s.reportRepo(s.org, "platform/backend/db/tool", "github", "3", "")
	s.reportRepo(s.org, "differ", "bitbucket", "4", "")
	org := s.orgID()
	s.must(s.Process.Store.Repos.SetTags(t.Context(), org, tagged, map[string]string{"team": "b", "area": "x"}, nil))
	for query, want := range map[string]string{
		"":                              "[bitbucket github gitlab] [bitbucket.example.com github.example.com gitlab.example.com] [platform]",
		"?provider=github":              "[bitbucket github gitlab] [github.example.com] [platform]",
		"?vcs_instance=x":               "[] [bitbucket.example.com github.example.com gitlab.example.com] []",
		"?namespace=platform":           "[github gitlab] [github.example.com gitlab.example.com] [backend]",
		"?namespace=platform/backend":   "[github gitlab] [github.example.com gitlab.example.com] [db]",
		"?tag=team":                     "[gitlab] [gitlab.example.com] [platform]",
		"?tag=":                         "[] [] []",
		"?tag=team:b&provider=github":   "[gitlab] [] []",
		"?namespace=platform/backend/x": "[] [] []",
	} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			got := s.read("/repos/" + s.org + "/filter-options" + query)
			if line := fmt.Sprint(lookup(t, got, "providers"), lookup(t, got, "vcs_instances"), lookup(t, got, "namespace_values")); line != want {
				t.Errorf("got %s, want %s", line, want)
			}
		})
	}
	other := s.reportRepo(s.org, "differ", "bitbucket", "4", "")
	s.must(s.Process.Store.Repos.SetTags(t.Context(), org, other, map[string]string{"team": "a", "area": "x"}, nil))
	choices := lookup(t, s.read("/repos/"+s.org+"/tags"), "tag_choices")
	if got := column(t, choices, "key") + " " + column(t, choices, "value"); got != "area team team x a b" {
		t.Errorf("choices %s", got)
	}
	if none := lookup(t, s.read("/repos/"+s.public+"/tags"), "tag_choices"); len(none.([]any)) != 0 {
		t.Errorf("another organization has %s", asJSON(none))
	}
}

func TestReposStayWithinTheirOrganization(t *testing.T) {
	t.Parallel()
	s := share(t)
	id := s.reportRepo(s.org, "acme/cli", "github", "1", "")
	if theirs := s.listRepos(s.public, ""); len(theirs) != 0 {
		t.Errorf("another organization lists %s", asJSON(theirs))
	}
	s.want(http.StatusNotFound, http.MethodGet, "/repos/"+s.public+"/acme/cli", nil)
	s.want(http.StatusNotFound, http.MethodGet, "/repos/"+s.public+"/x?id="+id, nil)
}
