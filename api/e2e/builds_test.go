package e2e_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
)

// listBuilds returns the names of the builds that a query finds. names are all that may be found.
func (s *service) listBuilds(query string, names ...string) string {
	s.t.Helper()
	words := []string{}
	for _, build := range lookup(s.t, s.read("/builds/"+s.org+query), "builds").([]any) {
		found := slices.IndexFunc(names, func(name string) bool { return evidence.HashAPIKey(name) == lookup(s.t, build, "fingerprint") })
		if found < 0 {
			s.t.Fatalf("unexpected build %s", asJSON(build))
		}
		words = append(words, names[found])
	}
	return strings.Join(words, " ")
}

func TestBuildIsTheFirstReportOfAFingerprint(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.reportBuild(s.org, "web-ci", "web", "web-1", "acme/web", "1")
	s.clock.advance(time.Hour)
	s.reportBuild(s.org, "web-ci", "web", "web-2", "acme/web", "1")
	s.clock.advance(time.Hour)
	// A repeated report is not another build.
	s.reportBuild(s.org, "web-ci", "web", "web-1", "acme/web", "1")
	s.reportBuild(s.org, "promotion", "image", "web-1", "acme/ops", "2")
	page := s.read("/builds/" + s.org)
	assertKeys(t, "the list", page.(map[string]any), "_links", "page", "per_page", "total_pages", "total_count", "builds")
	items := lookup(t, page, "builds").([]any)
	if got := s.listBuilds("", "web-1", "web-2"); got != "web-2 web-1" {
		t.Errorf("built %s", got)
	}
	first := items[1]
	assertKeys(t, "a build", first.(map[string]any), "created_at", "fingerprint", "flow_name", "trail_name", "repo_info", "_links")
	if lookup(t, first, "flow_name") != "web-ci" || lookup(t, first, "trail_name") != "trail-of-web-1" ||
		lookup(t, first, "repo_info", "name") != "acme/web" || lookup(t, first, "repo_info", "repo_id") != "1" {
		t.Errorf("built %s", asJSON(first))
	}
	if gap := lookup(t, items[0], "created_at").(float64) - lookup(t, first, "created_at").(float64); gap < 3600 || gap > 3700 {
		t.Errorf("built %f seconds apart", gap)
	}
	if again := s.followLink(first, "_links", "self", "href"); lookup(t, again, "fingerprint") != evidence.HashAPIKey("web-1") || lookup(t, again, "flow_name") != "web-ci" {
		t.Errorf("its self link shows %s", asJSON(again))
	}
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/bare", fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":"f","build_url":"b","commit_url":"c","trail_name":"t","template_reference_name":"web"}`, evidence.HashAPIKey("bare")))
	if bare := lookup(t, s.read("/builds/"+s.org), "builds", 0); lookup(t, bare, "repo_info") != nil {
		t.Errorf("without a repository: %s", asJSON(bare))
	}
}

func TestBuildsAreFilteredAndPaged(t *testing.T) {
	t.Parallel()
	s := start(t, options{real: true})
	names := []string{"old", "web-1", "web-2", "db-1", "lab-1"}
	s.reportBuild(s.org, "web-ci", "web", "old", "acme/web", "1")
	s.clock.advance(29 * 24 * time.Hour)
	for _, name := range []string{"web-1", "web-2"} {
		s.reportBuild(s.org, "web-ci", "web", name, "acme/web", "1")
		s.clock.advance(time.Minute)
	}
	s.reportBuild(s.org, "db-ci", "db", "db-1", "acme/db", "2")
	s.clock.advance(time.Minute)
	s.reportBuildFrom(s.org, "lab-ci", "web", "lab-1", `{"name":"acme/lab","id":"1","url":"https://gitlab.com/acme/lab","provider":"gitlab"}`, "acme/lab")
	s.clock.advance(time.Minute)
	internal := s.repoID(s.org, "2")
	for query, want := range map[string]string{
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
	} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			if got := s.listBuilds(query, names...); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	s.wantTotals("/builds/"+s.org+"?per_page=3&page=2", 2, 3, 2, 4)
	s.wantTotals("/builds/"+s.org+"?per_page=0", 1, 0, 0, 4)
	for _, list := range []string{"/builds/" + s.org, "/builds/" + s.org + "/statistics"} {
		for query, name := range map[string]string{"?repo_id=9": "9", "?repo_name=web": "web", "?repo_inner_id=x": "x"} {
			t.Run(s.caseName(list+query), func(t *testing.T) {
				s := s.in(t)
				wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, list+query, nil), "Repo '"+name+"' not found")
			})
		}
	}
	for query, field := range map[string]string{"?per_page=51": "query.per_page", "?start-ts=": "query.start-ts", "?end-ts=x": "query.end-ts"} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			if _, errors := s.want(http.StatusBadRequest, http.MethodGet, "/builds/"+s.org+query, nil).problem(t); errors[field] == "" {
				t.Errorf("%q", errors)
			}
		})
	}
}

func TestBuildStatisticsListTimesOldestFirst(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	if got := s.read("/builds/" + s.org + "/statistics"); lookup(t, got, "count") != 0.0 || len(lookup(t, got, "built_at").([]any)) != 0 {
		t.Errorf("nothing was built: %s", asJSON(got))
	}
	s.reportBuild(s.org, "web-ci", "web", "old", "acme/web", "1")
	s.clock.advance(29 * 24 * time.Hour)
	for _, name := range []string{"web-1", "web-2", "web-3", "web-1"} {
		s.reportBuild(s.org, "web-ci", "web", name, "acme/web", "1")
		s.clock.advance(time.Minute)
	}
	s.reportBuild(s.org, "db-ci", "db", "db-1", "acme/db", "2")
	for query, want := range map[string]int{
		"": 4, "?start_ts=0": 5, "?repo_name=acme/web": 3, "?repo_id=1&start_ts=0": 4, "?repo_inner_id=" + s.repoID(s.org, "2"): 1, "?start_ts=2&end_ts=1": 0,
	} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			got := s.read("/builds/" + s.org + "/statistics" + query)
			series := lookup(t, got, "built_at").([]any)
			if lookup(t, got, "count") != float64(want) || len(series) != want {
				t.Errorf("got %s, want %d", asJSON(got), want)
			}
			if !slices.IsSortedFunc(series, func(a, b any) int { return cmp.Compare(a.(float64), b.(float64)) }) {
				t.Errorf("built at %v", series)
			}
		})
	}
	got := s.read("/builds/" + s.org + "/statistics")
	if lookup(t, got, "end_ts").(float64)-lookup(t, got, "start_ts").(float64) != 28*24*3600 {
		t.Errorf("window %s", asJSON(got))
	}
}

func TestBuildsStayWithinTheirOrganization(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.reportBuild(s.org, "web-ci", "web", "web-1", "acme/web", "1")
	s.wantTotals("/builds/"+s.public, 1, 15, 0, 0)
	s.want(http.StatusNotFound, http.MethodGet, "/builds/"+s.public+"?repo_inner_id="+s.repoID(s.org, "1"), nil)
	s.want(http.StatusNotFound, http.MethodGet, "/builds/"+s.public+"?repo_id=1", nil)
}
