package pipelines_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/evidence"
)

func TestRepoIsReadByNameWithSlashesOrByID(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	id := s.ReportRepo(s.Org, "cyber-dojo/differ", "github", "42", `,"description":"of a test"`)
	deep := s.ReportRepo(s.Org, "a/b/c", "gitlab", "43", "")
	shadowed := s.ReportRepo(s.Org, "tags", "github", "44", "")
	apitest.Each(s, map[string]string{
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
	}, func(s *apitest.Service, path, want string) {
		got := s.Read("/repos/" + s.Org + path)
		apitest.ClientReads(s.T, "repo", got)
		apitest.WantMember(s.T, got, "id", want)
	})
	got := s.Read("/repos/" + s.Org + "/cyber-dojo/differ")
	if apitest.Lookup(t, got, "repo_id") != "42" || apitest.Lookup(t, got, "description") != "of a test" || apitest.Lookup(t, got, "url") != "https://github.example.com/cyber-dojo/differ" {
		t.Errorf("got %s", apitest.AsJSON(got))
	}
	if when, err := time.Parse(time.RFC3339, apitest.Lookup(t, got, "latest_activity").(string)); err != nil || time.Since(when).Abs() > time.Minute {
		t.Errorf("latest activity %v, %v", when, err)
	}
	self := strings.TrimPrefix(apitest.Lookup(t, got, "_links", "self", "href").(string), s.URL+"/api/v2")
	apitest.WantMember(t, s.Read(self), "id", id)
	if head := s.Do(http.MethodHead, "/api/v2/repos/"+s.Org+"/cyber-dojo/differ", apitest.AdminKey, nil); head.Status != http.StatusOK || len(head.Body) != 0 {
		t.Errorf("HEAD: %d %q", head.Status, head.Body)
	}
	apitest.Each(s, map[string]string{
		"/differ":                           "differ",
		"/cyber-dojo/differ/":               "cyber-dojo/differ/",
		"/cyber-dojo//differ":               "cyber-dojo//differ",
		"/cyber-dojo/differ?provider=git":   "cyber-dojo/differ",
		"/cyber-dojo/differ?id=" + s.Org:    s.Org,
		"/live-artifacts":                   "live-artifacts",
		"/cyber-dojo/deployments":           "cyber-dojo/deployments",
		"/o%27connor/x":                     "o'connor/x",
		"/cyber-dojo/differ/filter-options": "cyber-dojo/differ/filter-options",
	}, func(s *apitest.Service, path, name string) {
		apitest.WantMessage(s.T, s.Want(http.StatusNotFound, http.MethodGet, "/repos/"+s.Org+path, nil),
			"Repo '"+name+"' not found")
	})
	s.Want(http.StatusBadRequest, http.MethodGet, "/repos/"+s.Org+"/cyber-dojo/differ?provider=", nil)
	s.Want(http.StatusBadRequest, http.MethodGet, "/repos/"+s.Org+"/a%00b", nil)
}

func TestRepoOfAnAmbiguousNameNeedsItsProvider(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	github, gitlab := s.ReportRepo(s.Org, "acme/cli", "github", "1", ""), s.ReportRepo(s.Org, "acme/cli", "gitlab", "1", "")
	if github == gitlab {
		t.Fatal("one repo for two providers")
	}
	apitest.WantMessage(t, s.Want(http.StatusBadRequest, http.MethodGet, "/repos/"+s.Org+"/acme/cli", nil),
		"Multiple repos named 'acme/cli' exist (github, gitlab). Specify the 'provider'")
	apitest.Each(s, map[string]string{"github": github, "gitlab": gitlab},
		func(s *apitest.Service, provider, want string) {
			apitest.Equal[any](s.T, apitest.Lookup(s.T, s.Read("/repos/"+s.Org+"/acme/cli?provider="+provider), "id"), want)
		})
	// Within a provider the name refers to the newest repository, also when an older one is reported after it.
	s.Clock.Advance(time.Hour)
	successor := s.ReportRepo(s.Org, "acme/cli", "github", "2", "")
	s.Clock.Advance(time.Hour)
	s.ReportRepo(s.Org, "acme/cli", "github", "1", "")
	apitest.Equal[any](t, apitest.Lookup(t, s.Read("/repos/"+s.Org+"/acme/cli?provider=github"), "id"), successor)
	// A repository that is renamed at its provider stays the same repository.
	apitest.Equal(t, s.ReportRepo(s.Org, "acme/client", "gitlab", "1", ""), gitlab, "the renamed repository")
	s.Want(http.StatusNotFound, http.MethodGet, "/repos/"+s.Org+"/acme/cli?provider=gitlab", nil)
}

func TestOperationsRefuseAmbiguousRepoNames(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	s.CreateEnvironment("prod", evidence.Server)
	s.ReportRepo(s.Org, "acme/cli", "github", "1", "")
	s.Clock.Advance(time.Hour)
	s.ReportRepo(s.Org, "acme/cli", "github", "2", "")
	s.ReportRepo(s.Org, "other", "gitlab", "3", "")
	apitest.Each(s, map[string]string{
		"get_repo":             "/repos/" + s.Org + "/acme/cli?",
		"list_artifacts":       "/artifacts/" + s.Org + "?repo_name=acme/cli",
		"list_builds":          "/builds/" + s.Org + "?repo_name=acme/cli",
		"build_statistics":     "/builds/" + s.Org + "/statistics?repo_name=acme/cli",
		"list_deployments":     "/deployments/" + s.Org + "?repo_name=acme/cli",
		"get_env_events":       s.EnvironmentsPath() + "/prod/events?repo_name=acme/cli",
		"several of its names": s.EnvironmentsPath() + "/prod/events?repo_name=other&repo_name=acme/cli",
		"get_env_auditlog":     s.EnvironmentsPath() + "/prod/auditlog?repo_names=acme/cli",
	}, func(s *apitest.Service, name, path string) {
		apitest.WantMessage(s.T, s.Want(http.StatusBadRequest, http.MethodGet, path, nil),
			"Multiple repos named 'acme/cli' exist (github). Specify the 'provider'")
		if name != "several of its names" {
			s.Want(http.StatusOK, http.MethodGet, path+"&provider=github", nil)
		}
		apitest.WantMessage(s.T, s.Want(http.StatusNotFound, http.MethodGet, path+"&provider=bitbucket", nil),
			"Repo 'acme/cli' not found")
		apitest.WantFault(s.T, s.Want(http.StatusBadRequest, http.MethodGet, path+"&provider=x", nil), "query.provider")
	})
	for list, want := range map[string]any{"/artifacts/" + s.Org: evidence.HashAPIKey("acme/cligithub2"), "/builds/" + s.Org: evidence.HashAPIKey("acme/cligithub2")} {
		t.Run(s.CaseName(list), func(t *testing.T) {
			s := s.In(t)
			got := s.Read(list + "?provider=github&repo_name=acme/cli")
			if builds, ok := got.(map[string]any); ok {
				got = builds["builds"]
			}
			if items := got.([]any); len(items) != 1 || apitest.Lookup(t, items[0], "fingerprint") != want {
				t.Errorf("%s of the newest repository: %s", list, apitest.AsJSON(got))
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
			s := apitest.Share(t)
			s.Want(http.StatusCreated, http.MethodPut, "/flows/"+s.Org, []byte(`{"name":"ci","description":"","visibility":"private","template":["artifact"]}`))
			for i, provider := range order {
				s.WantForm(http.StatusCreated, http.MethodPut, "/trails/"+s.Org+"/ci", fmt.Sprintf(
					`{"name":"t%d","repo_info":{"name":"acme/cli","id":"42","url":"https://github.com/acme/cli"%s}}`, i, provider))
			}
			repos := s.ListRepos(s.Org, "")
			if len(repos) != 1 || apitest.Lookup(t, repos[0], "provider") != "github" {
				t.Fatalf("the reports made %s", apitest.AsJSON(repos))
			}
			for i := range order {
				trail := s.Read(fmt.Sprintf("/trails/%s/ci/t%d", s.Org, i))
				if ids := apitest.Lookup(t, trail, "repo_ids").([]any); len(ids) != 1 || ids[0] != apitest.Lookup(t, repos[0], "id") {
					t.Errorf("trail %d is of %s", i, apitest.AsJSON(ids))
				}
			}
		})
	}
}

func TestReposAreFilteredSortedAndPaged(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.ReportRepo(s.Org, "platform/backend/api", "gitlab", "1", "")
	web := s.ReportRepo(s.Org, "platform/Web", "github", "2", "")
	s.ReportRepo(s.Org, "differ", "github", "3", `,"namespace_path":["cyber","dojo"]`)
	s.Must(s.Process.Store.Repos.SetTags(t.Context(), s.OrgID(), web, map[string]string{"team": "tools", "tier": "1"}, nil))
	apitest.Each(s, map[string]string{
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
	}, func(s *apitest.Service, query, want string) {
		apitest.Equal(s.T, apitest.Column(s.T, s.ListRepos(s.Org, query), "name"), want)
	})
	page := s.Read("/repos/" + s.Org + "?page=2&per_page=2&sort_direction=asc")
	apitest.ClientReads(t, "repos", page)
	apitest.WantMembers(t, page, map[string]any{"page": 2.0, "per_page": 2.0, "total_pages": 2.0, "total_count": 3.0})
	for _, relation := range []string{"self", "first", "prev", "last"} {
		if href := apitest.Lookup(t, page, "_links", relation, "href").(string); !strings.HasPrefix(href, s.URL+"/api/v2/repos/"+s.Org+"?") {
			t.Errorf("%s: %s", relation, href)
		}
	}
	if empty := s.Read("/repos/" + s.Org + "?name=none"); len(apitest.Lookup(t, empty, "repos").([]any)) != 0 {
		t.Errorf("got %s", apitest.AsJSON(empty))
	}
}

func TestBadFiltersOfReposAreNamed(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	apitest.WantMessage(t, s.Want(http.StatusBadRequest, http.MethodGet, "/repos/"+s.Org+"?name=a&search=b", nil),
		"Specify either 'name' or 'search', not both")
}

func TestFilterOptionsHonourAllFiltersButTheirOwn(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	tagged := s.ReportRepo(s.Org, "platform/backend/api", "gitlab", "1", "")
	s.ReportRepo(s.Org, "platform/web", "github", "2", "")
	s.ReportRepo(s.Org, "platform/backend/db/tool", "github", "3", "")
	s.ReportRepo(s.Org, "differ", "bitbucket", "4", "")
	org := s.OrgID()
	s.Must(s.Process.Store.Repos.SetTags(t.Context(), org, tagged, map[string]string{"team": "b", "area": "x"}, nil))
	apitest.Each(s, map[string]string{
		"":                              "[bitbucket github gitlab] [bitbucket.example.com github.example.com gitlab.example.com] [platform]",
		"?provider=github":              "[bitbucket github gitlab] [github.example.com] [platform]",
		"?vcs_instance=x":               "[] [bitbucket.example.com github.example.com gitlab.example.com] []",
		"?namespace=platform":           "[github gitlab] [github.example.com gitlab.example.com] [backend]",
		"?namespace=platform/backend":   "[github gitlab] [github.example.com gitlab.example.com] [db]",
		"?tag=team":                     "[gitlab] [gitlab.example.com] [platform]",
		"?tag=":                         "[] [] []",
		"?tag=team:b&provider=github":   "[gitlab] [] []",
		"?namespace=platform/backend/x": "[] [] []",
	}, func(s *apitest.Service, query, want string) {
		got := s.Read("/repos/" + s.Org + "/filter-options" + query)
		if line := fmt.Sprint(apitest.Lookup(s.T, got, "providers"), apitest.Lookup(s.T, got, "vcs_instances"),
			apitest.Lookup(s.T, got, "namespace_values")); line != want {
			s.T.Errorf("got %s, want %s", line, want)
		}
	})
	other := s.ReportRepo(s.Org, "differ", "bitbucket", "4", "")
	s.Must(s.Process.Store.Repos.SetTags(t.Context(), org, other, map[string]string{"team": "a", "area": "x"}, nil))
	choices := apitest.Lookup(t, s.Read("/repos/"+s.Org+"/tags"), "tag_choices")
	if got := apitest.Column(t, choices, "key") + " " + apitest.Column(t, choices, "value"); got != "area team team x a b" {
		t.Errorf("choices %s", got)
	}
	if none := apitest.Lookup(t, s.Read("/repos/"+s.Public+"/tags"), "tag_choices"); len(none.([]any)) != 0 {
		t.Errorf("another organization has %s", apitest.AsJSON(none))
	}
}

func TestReposStayWithinTheirOrganization(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	id := s.ReportRepo(s.Org, "acme/cli", "github", "1", "")
	if theirs := s.ListRepos(s.Public, ""); len(theirs) != 0 {
		t.Errorf("another organization lists %s", apitest.AsJSON(theirs))
	}
	s.Want(http.StatusNotFound, http.MethodGet, "/repos/"+s.Public+"/acme/cli", nil)
	s.Want(http.StatusNotFound, http.MethodGet, "/repos/"+s.Public+"/x?id="+id, nil)
}
