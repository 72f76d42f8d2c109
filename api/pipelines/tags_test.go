package pipelines_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence"
)

func TestTagsAreSetAndRemoved(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateFlow("web")
	s.CreateEnvironment("prod", evidence.K8S)
	ofFlow := func(s *apitest.Service) map[string]string { return s.GetFlow("web").Tags }
	ofEnvironment := func(s *apitest.Service) map[string]string { return s.GetEnvironment("prod").Tags }
	apitest.Each(s, map[string]func(*apitest.Service) map[string]string{
		"flow/web": ofFlow, "flows/web": ofFlow, "env/prod": ofEnvironment, "environment/prod": ofEnvironment, "environments/prod": ofEnvironment,
	}, func(s *apitest.Service, kind string, tags func(*apitest.Service) map[string]string) {
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
			s.T.Run(step.name, func(t *testing.T) {
				s := s.In(t)
				got := s.Want(http.StatusOK, http.MethodPatch, s.TagsPath()+"/"+kind, []byte(step.body))
				if have := tags(s); got.Text(t) != "OK" || have == nil || !maps.Equal(have, step.want) {
					t.Errorf("%s %s: answered %s, the tags are %v", kind, step.body, got.Body, have)
				}
			})
		}
	})
}

func TestRepositoriesAreTaggedByID(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	repo := createRepo(s)
	s.Want(http.StatusOK, http.MethodPatch, s.TagsPath()+"/repos/"+repo, []byte(`{"set_tags":{"a":"1"}}`))
	tagged, err := s.Process.Store.Repos.Get(t.Context(), s.OrgID(), repo)
	if err != nil || tagged.Tags["a"] != "1" {
		t.Errorf("got %+v, %v", tagged, err)
	}
	s.Want(http.StatusNotFound, http.MethodPatch, "/tags/"+s.Public+"/repos/"+repo, []byte(`{"set_tags":{"a":"1"}}`))
}

func TestTagsOfUnknownResourcesAreNotFound(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	apitest.Each(s, map[string]string{
		"/flow/none":    "Flow named 'none' does not exist for organization '" + s.Org + "'",
		"/env/none":     "Environment named 'none' does not exist for organization '" + s.Org + "'",
		"/control/none": `"Control 'none' does not exist in organization '` + s.Org + `'"`,
		"/repo/none":    "Repo 'none' not found",
	}, func(s *apitest.Service, path, want string) {
		s.WantError(http.StatusNotFound, want, http.MethodPatch, s.TagsPath()+path, `{"set_tags":{"a":"1"}}`)
	})
}

func TestTagsAboveTheirLimitAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateFlow("web")
	s.CreateEnvironment("prod", evidence.K8S)
	half := strings.Repeat("x", 32<<10-1)
	set := func(key string) []byte { return fmt.Appendf(nil, `{"set_tags":{%q:%q}}`, key, half) }
	for _, path := range []string{s.TagsPath() + "/flow/web", s.TagsPath() + "/env/prod", s.TagsPath() + "/repo/" + createRepo(s)} {
		t.Run(s.CaseName(path), func(t *testing.T) {
			s := s.In(t)
			s.Want(http.StatusOK, http.MethodPatch, path, set("a"))
			s.Want(http.StatusOK, http.MethodPatch, path, set("b"))
			_, errors := s.Want(http.StatusBadRequest, http.MethodPatch, path, []byte(`{"set_tags":{"c":""}}`)).Problem(t)
			apitest.Equal(t, errors["set_tags"], "Tags should have at most 65536 bytes in all, not 65537", errors)
			s.Want(http.StatusOK, http.MethodPatch, path, []byte(`{"set_tags":{"c":""},"remove_tags":["b"]}`))
		})
	}
}

// createRepo stores a repository and returns its internal id.
func createRepo(s *apitest.Service) string {
	s.T.Helper()
	repo, err := s.Process.Store.Repos.Report(s.T.Context(), s.OrgID(), evidence.RepoInfo{Name: "acme/web", URL: "https://git.example/acme/web"}, 1)
	s.Must(err)
	return repo.ID
}

func TestConcurrentTagsAreAllKept(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.CreateFlow("web")
	const many = 50
	var group sync.WaitGroup
	for i := range many {
		group.Go(func() {
			got := s.Do(http.MethodPatch, "/api/v2"+s.TagsPath()+"/flow/web", apitest.MemberKey, fmt.Appendf(nil, `{"set_tags":{"k%d":"v"}}`, i))
			apitest.Equal(t, got.Status, http.StatusOK, got.Body)
		})
	}
	group.Wait()
	apitest.Equal(t, len(s.GetFlow("web").Tags), many, "tags are left")
}

func TestChangesOfFlowsChangeTheGeneration(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateFlow("web")
	before, err := s.Process.Store.Generations.Get(t.Context(), s.OrgID(), "any")
	s.Must(err)
	for _, change := range []struct{ name, method, path, body string }{
		{"tags", http.MethodPatch, s.TagsPath() + "/flow/web", `{"set_tags":{"a":"1"}}`},
		{"rename", http.MethodPut, s.FlowsPath() + "/web/rename", `{"new_name":"site"}`},
		{"archive", http.MethodPut, s.FlowsPath() + "/site/archive", "null"},
	} {
		t.Run(change.name, func(t *testing.T) {
			s := s.In(t)
			s.Want(http.StatusOK, change.method, change.path, []byte(change.body))
			after, err := s.Process.Store.Generations.Get(t.Context(), s.OrgID(), "any")
			if err != nil || after == before {
				t.Errorf("%s: the generation did not change, %v", change.path, err)
			}
			before = after
		})
	}
}
