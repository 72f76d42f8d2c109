package deployments_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/evidence"
)

// listBuilds returns the names of the builds that a query finds. names are all that may be found.
func listBuilds(s *apitest.Service, query string, names ...string) string {
	s.T.Helper()
	words := []string{}
	for _, build := range apitest.Lookup(s.T, s.Read("/builds/"+s.Org+query), "builds").([]any) {
		found := slices.IndexFunc(names, func(name string) bool { return evidence.HashAPIKey(name) == apitest.Lookup(s.T, build, "fingerprint") })
		if found < 0 {
			s.T.Fatalf("unexpected build %s", apitest.AsJSON(build))
		}
		words = append(words, names[found])
	}
	return strings.Join(words, " ")
}

func TestBuildIsTheFirstReportOfAFingerprint(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	s.ReportBuild(s.Org, "web-ci", "web", "web-1", "acme/web", "1")
	s.Clock.Advance(time.Hour)
	s.ReportBuild(s.Org, "web-ci", "web", "web-2", "acme/web", "1")
	s.Clock.Advance(time.Hour)
	// A repeated report is not another build.
	s.ReportBuild(s.Org, "web-ci", "web", "web-1", "acme/web", "1")
	s.ReportBuild(s.Org, "promotion", "image", "web-1", "acme/ops", "2")
	page := s.Read("/builds/" + s.Org)
	apitest.AssertKeys(t, "the list", page.(map[string]any), "_links", "page", "per_page", "total_pages", "total_count", "builds")
	items := apitest.Lookup(t, page, "builds").([]any)
	apitest.Equal(t, listBuilds(s, "", "web-1", "web-2"), "web-2 web-1", "built")
	first := items[1]
	apitest.AssertKeys(t, "a build", first.(map[string]any), "created_at", "fingerprint", "flow_name", "trail_name", "repo_info", "_links")
	apitest.WantMembers(t, first, map[string]any{
		"flow_name": "web-ci", "trail_name": "trail-of-web-1", "repo_info.name": "acme/web", "repo_info.repo_id": "1",
	})
	if gap := apitest.Lookup(t, items[0], "created_at").(float64) - apitest.Lookup(t, first, "created_at").(float64); gap < 3600 || gap > 3700 {
		t.Errorf("built %f seconds apart", gap)
	}
	if again := s.FollowLink(first, "_links", "self", "href"); apitest.Lookup(t, again, "fingerprint") != evidence.HashAPIKey("web-1") || apitest.Lookup(t, again, "flow_name") != "web-ci" {
		t.Errorf("its self link shows %s", apitest.AsJSON(again))
	}
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/bare", fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":"f","build_url":"b","commit_url":"c","trail_name":"t","template_reference_name":"web"}`, evidence.HashAPIKey("bare")))
	apitest.WantMember(t, apitest.Lookup(t, s.Read("/builds/"+s.Org), "builds", 0), "repo_info", nil)
}

func TestBuildsAreFilteredAndPaged(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Real: true})
	names := []string{"old", "web-1", "web-2", "db-1", "lab-1"}
	s.ReportBuild(s.Org, "web-ci", "web", "old", "acme/web", "1")
	s.Clock.Advance(29 * 24 * time.Hour)
	for _, name := range []string{"web-1", "web-2"} {
		s.ReportBuild(s.Org, "web-ci", "web", name, "acme/web", "1")
		s.Clock.Advance(time.Minute)
	}
	s.ReportBuild(s.Org, "db-ci", "db", "db-1", "acme/db", "2")
	s.Clock.Advance(time.Minute)
	s.ReportBuildFrom(s.Org, "lab-ci", "web", "lab-1", `{"name":"acme/lab","id":"1","url":"https://gitlab.com/acme/lab","provider":"gitlab"}`, "acme/lab")
	s.Clock.Advance(time.Minute)
	internal := repoID(s, s.Org, "2")
	apitest.Each(s, map[string]string{
		"":                                 "lab-1 db-1 web-2 web-1",
		"?start_ts=0":                      "lab-1 db-1 web-2 web-1 old",
		"?start_ts=1e10":                   "",
		"?end_ts=1e9":                      "",
		"?start-ts=0":                      "lab-1 db-1 web-2 web-1 old",
		"?start-ts=1e10":                   "",
		"?end-ts=1e9":                      "",
		"?start-ts=0&end-ts=1e10":          "lab-1 db-1 web-2 web-1 old",
		"?start_ts=0&start-ts=1e10":        "lab-1 db-1 web-2 web-1 old",
		"?end_ts=1e10&end-ts=1&start_ts=0": "lab-1 db-1 web-2 web-1 old",
		"?repo_name=acme/web":              "web-2 web-1",
		"?repo_id=1":                       "lab-1 web-2 web-1",
		"?repo_id=2":                       "db-1",
		"?repo_id=1&provider=gitlab":       "lab-1",
		"?repo_inner_id=" + internal:       "db-1",
		"?repo_id=2&repo_name=acme/web":    "db-1",
		"?repo_inner_id=" + internal + "&repo_id=1&repo_name=x": "db-1",
		"?repo_id=&repo_name=&repo_inner_id=":                   "lab-1 db-1 web-2 web-1",
		"?repo_name=acme/web&start_ts=0&per_page=2&page=2":      "old",
		"?per_page=3":        "lab-1 db-1 web-2",
		"?per_page=3&page=2": "web-1",
		"?page=9":            "",
		"?per_page=0":        "",
	}, func(s *apitest.Service, query, want string) {
		apitest.Equal(s.T, listBuilds(s, query, names...), want)
	})
	wantTotals(s, "/builds/"+s.Org+"?per_page=3&page=2", 2, 3, 2, 4)
	wantTotals(s, "/builds/"+s.Org+"?per_page=0", 1, 0, 0, 4)
	for _, list := range []string{"/builds/" + s.Org, "/builds/" + s.Org + "/statistics"} {
		for query, name := range map[string]string{"?repo_id=9": "9", "?repo_name=web": "web", "?repo_inner_id=x": "x"} {
			t.Run(s.CaseName(list+query), func(t *testing.T) {
				s := s.In(t)
				apitest.WantMessage(t, s.Want(http.StatusNotFound, http.MethodGet, list+query, nil), "Repo '"+name+"' not found")
			})
		}
	}
	for query, field := range map[string]string{"?per_page=51": "query.per_page", "?start-ts=": "query.start-ts", "?end-ts=x": "query.end-ts"} {
		t.Run(s.CaseName(query), func(t *testing.T) {
			s := s.In(t)
			apitest.WantFault(t, s.Want(http.StatusBadRequest, http.MethodGet, "/builds/"+s.Org+query, nil), field)
		})
	}
}

func TestBuildStatisticsListTimesOldestFirst(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	if got := s.Read("/builds/" + s.Org + "/statistics"); apitest.Lookup(t, got, "count") != 0.0 || len(apitest.Lookup(t, got, "built_at").([]any)) != 0 {
		t.Errorf("nothing was built: %s", apitest.AsJSON(got))
	}
	s.ReportBuild(s.Org, "web-ci", "web", "old", "acme/web", "1")
	s.Clock.Advance(29 * 24 * time.Hour)
	for _, name := range []string{"web-1", "web-2", "web-3", "web-1"} {
		s.ReportBuild(s.Org, "web-ci", "web", name, "acme/web", "1")
		s.Clock.Advance(time.Minute)
	}
	s.ReportBuild(s.Org, "db-ci", "db", "db-1", "acme/db", "2")
	apitest.Each(s, map[string]int{
		"": 4, "?start_ts=0": 5, "?repo_name=acme/web": 3, "?repo_id=1&start_ts=0": 4, "?repo_inner_id=" + repoID(s, s.Org, "2"): 1, "?start_ts=2&end_ts=1": 0,
	}, func(s *apitest.Service, query string, want int) {
		got := s.Read("/builds/" + s.Org + "/statistics" + query)
		series := apitest.Lookup(s.T, got, "built_at").([]any)
		apitest.WantMember(s.T, got, "count", float64(want))
		apitest.Equal(s.T, len(series), want)
		if !slices.IsSortedFunc(series, func(a, b any) int { return cmp.Compare(a.(float64), b.(float64)) }) {
			s.T.Errorf("built at %v", series)
		}
	})
	got := s.Read("/builds/" + s.Org + "/statistics")
	if apitest.Lookup(t, got, "end_ts").(float64)-apitest.Lookup(t, got, "start_ts").(float64) != 28*24*3600 {
		t.Errorf("window %s", apitest.AsJSON(got))
	}
}

func TestBuildsStayWithinTheirOrganization(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.ReportBuild(s.Org, "web-ci", "web", "web-1", "acme/web", "1")
	wantTotals(s, "/builds/"+s.Public, 1, 15, 0, 0)
	s.Want(http.StatusNotFound, http.MethodGet, "/builds/"+s.Public+"?repo_inner_id="+repoID(s, s.Org, "1"), nil)
	s.Want(http.StatusNotFound, http.MethodGet, "/builds/"+s.Public+"?repo_id=1", nil)
}
