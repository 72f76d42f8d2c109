package e2e_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"attestry/evidence"
)

func (s *service) tagsPath() string { return "/tags/" + s.org }

func TestTagsAreSetAndRemoved(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createFlow("web")
	s.createEnvironment("prod", evidence.K8S)
	ofFlow := func(s *service) map[string]string { return s.getFlow("web").Tags }
	ofEnvironment := func(s *service) map[string]string { return s.getEnvironment("prod").Tags }
	for kind, tags := range map[string]func(*service) map[string]string{
		"flow/web": ofFlow, "flows/web": ofFlow, "env/prod": ofEnvironment, "environment/prod": ofEnvironment, "environments/prod": ofEnvironment,
	} {
		t.Run(kind, func(t *testing.T) {
			s := s.in(t)
			for _, step := range []struct {
				name, body string
				want       map[string]string
			}{
				{"set", `{"set_tags":{"a":"1","b.c~_-":"ü =:"},"remove_tags":null}`, map[string]string{"a": "1", "b.c~_-": "ü =:"}},
				{"set and remove", `{"set_tags":{"a":"2"},"remove_tags":["b.c~_-","never"]}`, map[string]string{"a": "2"}},
				{"set what is removed", `{"set_tags":{"a":"3"},"remove_tags":["a"]}`, map[string]string{"a": "3"}},
				{"nothing", `{}`, map[string]string{"a": "3"}},
				{"null", `{"set_tags":null,"remove_tags":[""]}`, map[string]string{"a": "3"}},
				{"remove", `{"remove_tags":["a"]}`, map[string]string{}},
			} {
				t.Run(step.name, func(t *testing.T) {
					s := s.in(t)
					got := s.want(http.StatusOK, http.MethodPatch, s.tagsPath()+"/"+kind, []byte(step.body))
					if have := tags(s); got.text(t) != "OK" || have == nil || !maps.Equal(have, step.want) {
						t.Errorf("%s %s: answered %s, the tags are %v", kind, step.body, got.body, have)
					}
				})
			}
		})
	}
}

func TestRepositoriesAreTaggedByID(t *testing.T) {
	t.Parallel()
	s := share(t)
	repo := s.createRepo()
	s.want(http.StatusOK, http.MethodPatch, s.tagsPath()+"/repos/"+repo, []byte(`{"set_tags":{"a":"1"}}`))
	tagged, err := s.Process.Store.Repos.Get(t.Context(), s.orgID(), repo)
	if err != nil || tagged.Tags["a"] != "1" {
		t.Errorf("got %+v, %v", tagged, err)
	}
	s.want(http.StatusNotFound, http.MethodPatch, "/tags/"+s.public+"/repos/"+repo, []byte(`{"set_tags":{"a":"1"}}`))
}

func TestTagsOfUnknownResourcesAreNotFound(t *testing.T) {
	t.Parallel()
	s := share(t)
	for path, want := range map[string]string{
		"/flow/none":    "Flow named 'none' does not exist for organization '" + s.org + "'",
		"/env/none":     "Environment named 'none' does not exist for organization '" + s.org + "'",
		"/control/none": `"Control 'none' does not exist in organization '` + s.org + `'"`,
		"/repo/none":    "Repo 'none' not found",
	} {
		t.Run(s.caseName(path), func(t *testing.T) {
			s.in(t).wantError(http.StatusNotFound, want, http.MethodPatch, s.tagsPath()+path, `{"set_tags":{"a":"1"}}`)
		})
	}
}

func TestTagsAboveTheirLimitAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createFlow("web")
	s.createEnvironment("prod", evidence.K8S)
	half := strings.Repeat("x", 32<<10-1)
	set := func(key string) []byte { return fmt.Appendf(nil, `{"set_tags":{%q:%q}}`, key, half) }
	for _, path := range []string{s.tagsPath() + "/flow/web", s.tagsPath() + "/env/prod", s.tagsPath() + "/repo/" + s.createRepo()} {
		t.Run(s.caseName(path), func(t *testing.T) {
			s := s.in(t)
			s.want(http.StatusOK, http.MethodPatch, path, set("a"))
			s.want(http.StatusOK, http.MethodPatch, path, set("b"))
			_, errors := s.want(http.StatusBadRequest, http.MethodPatch, path, []byte(`{"set_tags":{"c":""}}`)).problem(t)
			if errors["set_tags"] != "Tags should have at most 65536 bytes in all, not 65537" {
				t.Errorf("%q", errors)
			}
			s.want(http.StatusOK, http.MethodPatch, path, []byte(`{"set_tags":{"c":""},"remove_tags":["b"]}`))
		})
	}
}

// createRepo stores a repository and returns its internal id.
func (s *service) createRepo() string {
	s.t.Helper()
	repo, err := s.Process.Store.Repos.Report(s.t.Context(), s.orgID(), evidence.RepoInfo{Name: "acme/web", URL: "https://git.example/acme/web"}, 1)
	s.must(err)
	return repo.ID
}

func TestConcurrentTagsAreAllKept(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.createFlow("web")
	const many = 50
	var group sync.WaitGroup
	for i := range many {
		group.Go(func() {
			got := s.do(http.MethodPatch, "/api/v2"+s.tagsPath()+"/flow/web", memberKey, fmt.Appendf(nil, `{"set_tags":{"k%d":"v"}}`, i))
			if got.status != http.StatusOK {
				t.Errorf("status %d: %s", got.status, got.body)
			}
		})
	}
	group.Wait()
	if tags := s.getFlow("web").Tags; len(tags) != many {
		t.Errorf("%d tags are left", len(tags))
	}
}

func TestChangesOfFlowsChangeTheGeneration(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createFlow("web")
	before, err := s.Process.Store.Generations.Get(t.Context(), s.orgID(), "any")
	s.must(err)
	for _, change := range []struct{ name, method, path, body string }{
		{"tags", http.MethodPatch, s.tagsPath() + "/flow/web", `{"set_tags":{"a":"1"}}`},
		{"rename", http.MethodPut, s.flowsPath() + "/web/rename", `{"new_name":"site"}`},
		{"archive", http.MethodPut, s.flowsPath() + "/site/archive", "null"},
	} {
		t.Run(change.name, func(t *testing.T) {
			s := s.in(t)
			s.want(http.StatusOK, change.method, change.path, []byte(change.body))
			after, err := s.Process.Store.Generations.Get(t.Context(), s.orgID(), "any")
			if err != nil || after == before {
				t.Errorf("%s: the generation did not change, %v", change.path, err)
			}
			before = after
		})
	}
}
