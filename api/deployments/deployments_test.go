package deployments_test

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/api/apitest/webclient"
	"attestry/evidence"
)

// repoID returns the internal id of a repository with an id at its provider.
func repoID(s *apitest.Service, organization, id string) string {
	s.T.Helper()
	return apitest.Lookup(s.T, s.ListRepos(organization, "?repo_id="+id), 0, "id").(string)
}

// listDeployments returns the deployments of a page as artifact@environment#snapshot.
func listDeployments(s *apitest.Service, path string) string {
	s.T.Helper()
	words := []string{}
	for _, deployment := range apitest.Lookup(s.T, s.Read(path), "deployments").([]any) {
		name := strings.TrimPrefix(apitest.Lookup(s.T, deployment, "artifact_name").(string), "/opt/")
		words = append(words, fmt.Sprintf("%s@%s#%v", name, apitest.Lookup(s.T, deployment, "env_name"), apitest.Lookup(s.T, deployment, "snapshot_index")))
	}
	return strings.Join(words, " ")
}

func wantDeployments(s *apitest.Service, path, want string) {
	s.T.Helper()
	apitest.Equal(s.T, listDeployments(s, path), want, path)
}

func wantTotals(s *apitest.Service, path string, page, size, pages, count float64) {
	s.T.Helper()
	got := s.Read(path)
	want := []any{page, size, pages, count}
	if have := []any{apitest.Lookup(s.T, got, "page"), apitest.Lookup(s.T, got, "per_page"), apitest.Lookup(s.T, got, "total_pages"), apitest.Lookup(s.T, got, "total_count")}; !slices.Equal(have, want) {
		s.T.Errorf("%s: totals %v, want %v", path, have, want)
	}
}

// deployAndRollBack deploys three builds in turn and then the second again.
func deployAndRollBack(s *apitest.Service) {
	s.T.Helper()
	s.CreateEnvironment("prod", evidence.Server)
	for _, name := range []string{"web-1", "web-2", "web-3"} {
		s.ReportBuild(s.Org, "web-ci", "web", name, "acme/web", "1")
		s.ReportServer("prod", name)
	}
	s.ReportServer("prod", "web-2")
}

func TestDeploymentsAndRollbacksAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	deployAndRollBack(s)
	page := s.Read("/deployments/" + s.Org)
	wantDeployments(s, "/deployments/"+s.Org, "web-2@prod#4 web-3@prod#3 web-2@prod#2 web-1@prod#1")
	wantTotals(s, "/deployments/"+s.Org, 1, 15, 1, 4)
	for i, before := range []string{"web-3 3", "web-2 2", "web-1 1", ""} {
		deployment := apitest.Lookup(t, page, "deployments", i)
		replaced := apitest.Lookup(t, deployment, "replaced_artifact")
		apitest.WantMember(t, deployment, "is_rollback", i == 0)
		if before == "" {
			if replaced != nil || apitest.Lookup(t, deployment, "diff_url") != nil {
				t.Errorf("the first deployment replaced %s", apitest.AsJSON(deployment))
			}
			continue
		}
		var name string
		var index float64
		fmt.Sscan(before, &name, &index)
		if apitest.Lookup(t, replaced, "fingerprint") != evidence.HashAPIKey(name) || apitest.Lookup(t, replaced, "artifact_name") != "/opt/"+name ||
			apitest.Lookup(t, replaced, "snapshot_index") != index || apitest.Lookup(t, replaced, "artifact", "git_commit") != apitest.CommitOf(name) {
			t.Errorf("deployment %d replaced %s, want %s", i, apitest.AsJSON(replaced), before)
		}
		now := strings.TrimPrefix(apitest.Lookup(t, deployment, "artifact_name").(string), "/opt/")
		if diff := "https://github.com/acme/web/compare/" + apitest.CommitOf(name) + "..." + apitest.CommitOf(now); apitest.Lookup(t, deployment, "diff_url") != diff {
			t.Errorf("deployment %d differs by %v, want %s", i, apitest.Lookup(t, deployment, "diff_url"), diff)
		}
	}
}

func TestRestartAndRollForwardAreNotRollbacks(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	deployAndRollBack(s)
	s.ReportServer("prod")
	s.ReportServer("prod", "web-2") // the last deployed artifact again
	s.ReportServer("prod", "web-3")
	page := s.Read("/deployments/" + s.Org)
	want := "web-3@prod#7 false, web-2@prod#6 false, web-2@prod#4 true, web-3@prod#3 false"
	var got []string
	for i := range 4 {
		deployment := apitest.Lookup(t, page, "deployments", i)
		name := strings.TrimPrefix(apitest.Lookup(t, deployment, "artifact_name").(string), "/opt/")
		got = append(got, fmt.Sprint(name, "@prod#", apitest.Lookup(t, deployment, "snapshot_index"), " ", apitest.Lookup(t, deployment, "is_rollback")))
	}
	apitest.Equal(t, strings.Join(got, ", "), want)
	v := webclient.SignedIn(s, apitest.ReaderKey)
	v.WantPage(http.StatusOK, "/"+s.Org, "20 % of the changes rolled back")
	v.WantPage(http.StatusOK, "/"+s.Org+"/deployments", "1 of 5 (20 %)")
}

// Which of two artifacts that began together is listed first depends only on their fingerprints.
func TestArtifactsThatWereStoppedTogetherAreRestarted(t *testing.T) {
	t.Parallel()
	for _, names := range [][2]string{{"web-1", "web-2"}, {"web-2", "web-1"}} {
		s := apitest.Start(t, apitest.Options{})
		s.CreateEnvironment("prod", evidence.Server)
		for _, name := range names {
			s.ReportBuild(s.Org, "web-ci", "web", name, "acme/web", "1")
		}
		reports := [][]string{{names[0]}, names[:], nil, names[:], nil, names[:], names[1:], names[:1]}
		for _, running := range reports {
			s.ReportServer("prod", running...)
		}
		var rollbacks []string
		for _, deployment := range apitest.Lookup(t, s.Read("/deployments/"+s.Org), "deployments").([]any) {
			if apitest.Lookup(t, deployment, "is_rollback") == true {
				rollbacks = append(rollbacks, fmt.Sprint(apitest.Lookup(t, deployment, "artifact_name"), "#", apitest.Lookup(t, deployment, "snapshot_index")))
			}
		}
		// In snapshot 4, the first one seems to replace the other, which began to run later than it.
		apitest.EqualList(t, rollbacks, []string{"/opt/" + names[0] + "#8", "/opt/" + names[0] + "#4"}, names)
	}
}

func TestDeploymentShowsProvenance(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	deployAndRollBack(s)
	deployment := s.Read("/deployments/" + s.Org + "/prod/" + evidence.HashAPIKey("web-1"))
	apitest.AssertKeys(t, "a deployment", deployment.(map[string]any), "fingerprint", "deployed_at", "artifact_name", "env_name", "snapshot_index",
		"artifact", "replaced_artifact", "diff_url", "lead_time_seconds", "is_rollback", "_links")
	artifact := apitest.Lookup(t, deployment, "artifact")
	apitest.WantMembers(t, artifact, map[string]any{
		"flow_name": "web-ci", "trail_name": "trail-of-web-1", "template_reference_name": "web", "git_commit": apitest.CommitOf("web-1"),
	})
	apitest.WantMembers(t, artifact, map[string]any{
		"repo_info.name": "acme/web", "repo_info.repo_id": "1", "git_commit_info.branch": "main",
	})
	committed := apitest.Lookup(t, artifact, "git_commit_info", "timestamp").(float64)
	deployed := apitest.Lookup(t, deployment, "deployed_at").(float64)
	if lead := apitest.Lookup(t, deployment, "lead_time_seconds").(float64); lead < 3600 || lead > 3700 || evidence.RoundSeconds(deployed-committed) != lead {
		t.Errorf("lead time %v, deployed at %f, committed at %f", lead, deployed, committed)
	}
	if apitest.Lookup(t, deployment, "_links", "html", "href") != s.URL+"/"+s.Org+"/environments/prod/snapshots/1" {
		t.Errorf("links %s", apitest.AsJSON(apitest.Lookup(t, deployment, "_links")))
	}
	if again := s.FollowLink(deployment, "_links", "self", "href"); !reflect.DeepEqual(again, deployment) {
		t.Errorf("its self link shows %s", apitest.AsJSON(again))
	}
	if apitest.Lookup(t, s.FollowLink(deployment, "_links", "environment", "href"), "name") != "prod" {
		t.Errorf("links %s", apitest.AsJSON(apitest.Lookup(t, deployment, "_links")))
	}
}

func TestLastDeploymentIsReadByEnvironmentAndFingerprint(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	deployAndRollBack(s)
	s.CreateEnvironment("beta", evidence.Server)
	s.CreateLogical("all", "prod", "beta")
	s.CreateLogical("none")
	path, fingerprint := "/deployments/"+s.Org, evidence.HashAPIKey("web-2")
	apitest.Each(s, map[string]string{
		"physical environment": "/prod/" + fingerprint,
		"in capitals":          "/prod/" + strings.ToUpper(fingerprint),
		"logical environment":  "/all/" + fingerprint,
	}, func(s *apitest.Service, _, rest string) {
		apitest.WantMembers(s.T, s.Read(path+rest), map[string]any{"snapshot_index": 4.0, "env_name": "prod"})
	})
	apitest.Each(s, map[string]string{
		"of another artifact": evidence.HashAPIKey("web-9"), "prefix of a fingerprint": fingerprint[:40], "one letter": "x", "escaped": "%23",
	}, func(s *apitest.Service, _, fingerprint string) {
		plain, err := url.PathUnescape(fingerprint)
		s.Must(err)
		apitest.WantMessage(s.T, s.Want(http.StatusNotFound, http.MethodGet, path+"/prod/"+fingerprint, nil),
			"Deployment of '"+plain+"' to environment 'prod' not found")
	})
	apitest.EachOf(s, []string{"beta", "none"}, func(s *apitest.Service, environment string) {
		s.Want(http.StatusNotFound, http.MethodGet, path+"/"+environment+"/"+fingerprint, nil)
	})
	apitest.WantMessage(t, s.Want(http.StatusNotFound, http.MethodGet, path+"/elsewhere/"+fingerprint, nil),
		"Environment named 'elsewhere' does not exist for organization '"+s.Org+"'")
}

func TestDeploymentsAreFilteredByTime(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	s.CreateEnvironment("prod", evidence.Server)
	s.ReportServer("prod", "old")
	s.Clock.Advance(29 * 24 * time.Hour)
	s.ReportServer("prod", "new")
	path := "/deployments/" + s.Org
	wantDeployments(s, path, "new@prod#2")
	times := []float64{}
	for _, deployment := range apitest.Lookup(t, s.Read(path+"?start_ts=0"), "deployments").([]any) {
		times = append(times, apitest.Lookup(t, deployment, "deployed_at").(float64))
	}
	if len(times) != 2 {
		t.Fatalf("deployed at %v", times)
	}
	newer, older := times[0], times[1]
	const fourWeeks = 28 * 24 * 3600
	for name, c := range map[string]struct{ query, want string }{
		"both bounds are inclusive":      {fmt.Sprintf("?start_ts=%f&end_ts=%f", older, newer), "new@prod#2 old@prod#1"},
		"start a millisecond later":      {fmt.Sprintf("?start_ts=%f&end_ts=%f", older+0.001, newer), "new@prod#2"},
		"end a millisecond earlier":      {fmt.Sprintf("?start_ts=%f&end_ts=%f", older, newer-0.001), "old@prod#1"},
		"end alone":                      {fmt.Sprintf("?end_ts=%f", older), "old@prod#1"},
		"end four weeks later":           {fmt.Sprintf("?end_ts=%f", older+fourWeeks), "old@prod#1"},
		"end more than four weeks later": {fmt.Sprintf("?end_ts=%f", older+fourWeeks+0.001), ""},
		"start after the end":            {fmt.Sprintf("?start_ts=%f&end_ts=%f", newer, older), ""},
		"all of time":                    {"?start_ts=-1e300&end_ts=1e300", "new@prod#2 old@prod#1"},
		"equal bounds in an environment": {fmt.Sprintf("?start_ts=%f&end_ts=%f&env_name=prod", older, older), "old@prod#1"},
	} {
		t.Run(name, func(t *testing.T) { wantDeployments(s.In(t), path+c.query, c.want) })
	}
	wantTotals(s, fmt.Sprintf("%s?start_ts=%f&end_ts=%f", path, newer, older), 1, 15, 0, 0)
	for _, bound := range []string{"start_ts", "end_ts"} {
		for _, list := range []string{path, "/builds/" + s.Org, "/builds/" + s.Org + "/statistics"} {
			t.Run(s.CaseName(list+"?"+bound), func(t *testing.T) {
				s := s.In(t)
				message, errors := s.Want(http.StatusBadRequest, http.MethodGet, list+"?"+bound+"=x", nil).Problem(t)
				if message != "Input payload validation failed" || !strings.HasSuffix(errors["query."+bound], "[input: x]") {
					t.Errorf("%q %q", message, errors)
				}
			})
		}
	}
}

func TestDeploymentsArePaged(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	deployAndRollBack(s)
	path := "/deployments/" + s.Org
	for query, want := range map[string]string{
		"?per_page=3":                "web-2@prod#4 web-3@prod#3 web-2@prod#2",
		"?per_page=3&page=2":         "web-1@prod#1",
		"?per_page=3&page=3":         "",
		"?per_page=50&page=99999999": "",
		"?per_page=0":                "",
		"?per_page=0&page=2":         "",
	} {
		t.Run(s.CaseName(query), func(t *testing.T) { wantDeployments(s.In(t), path+query, want) })
	}
	wantTotals(s, path+"?per_page=3&page=2", 2, 3, 2, 4)
	wantTotals(s, path+"?per_page=0", 1, 0, 0, 4)
	first := s.Read(path + "?per_page=3&end_ts=9e9&start_ts=1")
	if next := s.FollowLink(first, "_links", "next", "href"); apitest.Lookup(t, next, "deployments", 0, "artifact_name") != "/opt/web-1" || len(apitest.Lookup(t, next, "deployments").([]any)) != 1 {
		t.Errorf("the next page is %s", apitest.AsJSON(next))
	}
	apitest.Each(s, map[string]string{
		"?page=0": "query.page", "?per_page=-1": "query.per_page", "?per_page=51": "query.per_page", "?page=x": "query.page",
	}, func(s *apitest.Service, query, field string) {
		apitest.WantFault(s.T, s.Want(http.StatusBadRequest, http.MethodGet, path+query, nil), field)
	})
}

func TestDeploymentsAreFilteredByEnvironmentAndRepository(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	deployAndRollBack(s)
	s.CreateEnvironment("beta", evidence.Server)
	s.ReportBuild(s.Org, "db-ci", "db", "db-1", "acme/db", "2")
	s.ReportServer("beta", "db-1", "web-3")
	s.CreateLogical("all", "prod", "beta", "prod")
	s.CreateLogical("none")
	path := "/deployments/" + s.Org
	apitest.Each(s, map[string]string{
		"?env_name=prod&per_page=2":             "web-2@prod#4 web-3@prod#3",
		"?env_name=all&per_page=3":              "web-3@beta#1 db-1@beta#1 web-2@prod#4",
		"?env_name=none":                        "",
		"?repo_name=acme/db":                    "db-1@beta#1",
		"?repo_name=acme/web&env_name=beta":     "web-3@beta#1",
		"?repo_name=acme/db&env_name=prod":      "",
		"?repo_name=acme/db&env_name=all":       "db-1@beta#1",
		"?repo_name=&env_name=beta&page=1":      "web-3@beta#1 db-1@beta#1",
		"?repo_name=acme/web&start_ts=1e10":     "",
		"?repo_name=acme/web&per_page=1":        "web-3@beta#1",
		"?repo_name=acme/db&env_name=none":      "",
		"?repo_name=acme%2Fdb&env_name=beta":    "db-1@beta#1",
		"?env_name=beta&start_ts=1e10":          "",
		"?env_name=beta&page=2":                 "",
		"?env_name=all&per_page=1&page=3":       "web-2@prod#4",
		"?repo_name=acme/web&page=4&per_page=1": "web-2@prod#2",
	}, func(s *apitest.Service, query, want string) {
		got := strings.Fields(listDeployments(s, path+query))
		apitest.EqualList(s.T, sorted(got), sorted(strings.Fields(want)))
	})
	apitest.WantMessage(t, s.Want(http.StatusNotFound, http.MethodGet, path+"?repo_name=acme/x", nil), "Repo 'acme/x' not found")
	apitest.WantMessage(t, s.Want(http.StatusNotFound, http.MethodGet, path+"?env_name=x", nil), "Environment named 'x' does not exist for organization '"+s.Org+"'")
	apitest.WantMessage(t, s.Want(http.StatusNotFound, http.MethodGet, path+"?env_name=", nil), "Environment named '' does not exist for organization '"+s.Org+"'")
	s.Want(http.StatusBadRequest, http.MethodGet, path+"?env_name=%00", nil)
}

// sorted sorts deployments: those of the same time have no fixed order in an answer.
func sorted(words []string) []string {
	sorted := slices.Clone(words)
	slices.Sort(sorted)
	return sorted
}

func TestDeploymentsOfARepositoryAreFilteredByEnvironments(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	deployAndRollBack(s)
	s.CreateEnvironment("beta", evidence.Server)
	s.CreateEnvironment("idle", evidence.Server)
	s.ReportServer("beta", "web-1")
	s.CreateLogical("all", "prod", "beta", "idle")
	path := "/repos/" + s.Org + "/" + repoID(s, s.Org, "1") + "/deployments"
	for query, want := range map[string]string{
		"?per_page=2":                     "web-1@beta#1 web-2@prod#4",
		"?env=beta":                       "web-1@beta#1",
		"?env=idle":                       "",
		"?env=prod&env=beta&per_page=2":   "web-1@beta#1 web-2@prod#4",
		"?env=all&per_page=3":             "web-1@beta#1 web-2@prod#4 web-3@prod#3",
		"?env=beta&env=beta&env=idle":     "web-1@beta#1",
		"?env=&env=beta":                  "web-1@beta#1",
		"?env=&per_page=2":                "web-1@beta#1 web-2@prod#4",
		"?env=prod&page=2&per_page=3":     "web-1@prod#1",
		"?per_page=0":                     "",
		"?start_ts=1e10":                  "",
		"?env=prod&end_ts=1&start_ts=1e9": "",
	} {
		t.Run(s.CaseName(query), func(t *testing.T) { wantDeployments(s.In(t), path+query, want) })
	}
	wantTotals(s, path+"?env=prod", 1, 15, 1, 4)
	apitest.EachOf(s, []string{"deployments", "deployment-statistics"}, func(s *apitest.Service, operation string) {
		base := "/repos/" + s.Org + "/" + repoID(s, s.Org, "1") + "/" + operation
		apitest.WantMessage(s.T, s.Want(http.StatusNotFound, http.MethodGet, base+"?env=beta&env=x", nil),
			"Environment named 'x' does not exist for organization '"+s.Org+"'")
		apitest.WantMessage(s.T, s.Want(http.StatusNotFound, http.MethodGet,
			"/repos/"+s.Org+"/00000000-0000-0000-0000-00000000/"+operation, nil), "Repo '00000000-0000-0000-0000-00000000' not found")
		apitest.WantFault(s.T, s.Want(http.StatusBadRequest, http.MethodGet, base+"?end_ts=x", nil), "query.end_ts")
	})
}

func TestArtifactWithoutProvenanceIsDeployed(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.ReportServer("prod", "intruder")
	deployment := s.Read("/deployments/" + s.Org + "/prod/" + evidence.HashAPIKey("intruder"))
	for _, member := range []string{"artifact", "replaced_artifact", "diff_url", "lead_time_seconds"} {
		apitest.Equal(t, apitest.Lookup(t, deployment, member), nil, member)
	}
	// When a flow reports the artifact later, the deployment keeps the time at which the artifact started and its name then.
	renamed := fmt.Sprintf(`{"artifacts":[{"digests":{"renamed":%q},"creationTimestamp":1}]}`, evidence.HashAPIKey("intruder"))
	s.Report(http.StatusOK, "prod", "server", renamed)
	s.ReportBuild(s.Org, "web-ci", "web", "intruder", "acme/web", "1")
	s.Report(http.StatusCreated, "prod", "server", renamed)
	for _, path := range []string{"/deployments/" + s.Org, "/repos/" + s.Org + "/" + repoID(s, s.Org, "1") + "/deployments"} {
		t.Run(s.CaseName(path), func(t *testing.T) {
			s := s.In(t)
			found := apitest.Lookup(t, s.Read(path), "deployments").([]any)
			if len(found) != 1 || apitest.Lookup(t, found[0], "artifact", "flow_name") != "web-ci" ||
				apitest.Lookup(t, found[0], "deployed_at") != apitest.Lookup(t, deployment, "deployed_at") || apitest.Lookup(t, found[0], "snapshot_index") != 1.0 || apitest.Lookup(t, found[0], "artifact_name") != "/opt/intruder" {
				t.Errorf("%s", apitest.AsJSON(found))
			}
		})
	}
}

func TestDeploymentsOfAnEnvironmentHaveTimesInISO8601(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	s.CreateEnvironment("prod", evidence.Server)
	s.ReportServer("prod", "old")
	s.Clock.Advance(31 * 24 * time.Hour)
	s.ReportServer("prod", "mid")
	s.ReportServer("prod", "new")
	path := s.EnvironmentsPath() + "/prod/deployments"
	wantDeployments(s, path, "new@prod#3 mid@prod#2")
	items := apitest.Lookup(t, s.Read(path), "deployments").([]any)
	seconds := apitest.Lookup(t, s.Read("/deployments/"+s.Org), "deployments").([]any)
	for i := range items {
		read, err := time.Parse(time.RFC3339Nano, apitest.Lookup(t, items[i], "deployed_at").(string))
		if err != nil || read.Location() != time.UTC || evidence.Seconds(read) != apitest.Lookup(t, seconds[i], "deployed_at") {
			t.Errorf("deployed at %v, which is %v (%v)", apitest.Lookup(t, items[i], "deployed_at"), read, err)
		}
	}
	newest, err := time.Parse(time.RFC3339Nano, apitest.Lookup(t, items[0], "deployed_at").(string))
	s.Must(err)
	escaped, zone := url.QueryEscape, time.FixedZone("", 7200)
	for name, c := range map[string]struct{ query, want string }{
		"from a date":           {"?from=2020-01-01", "new@prod#3 mid@prod#2 old@prod#1"},
		"empty bounds":          {"?from=&to=", "new@prod#3 mid@prod#2"},
		"to the newest":         {"?to=" + escaped(newest.Format(time.RFC3339Nano)), "new@prod#3 mid@prod#2"},
		"from the newest":       {"?from=" + escaped(newest.Format(time.RFC3339Nano)), "new@prod#3"},
		"without a zone":        {"?from=" + newest.Format("2006-01-02T15:04:05.000000"), "new@prod#3"},
		"from after the newest": {"?from=" + escaped(newest.Add(time.Millisecond).Format(time.RFC3339Nano)), ""},
		"in another zone":       {"?from=" + escaped(newest.In(zone).Format(time.RFC3339Nano)), "new@prod#3"},
		"plus sign not escaped": {"?from=" + newest.In(zone).Format("2006-01-02T15:04:05.000000-07:00"), "new@prod#3"}, // decoded as a space
		"to before the newest":  {"?to=" + escaped(newest.Add(-time.Microsecond).Format(time.RFC3339Nano)), "mid@prod#2"},
		"to a date":             {"?to=" + newest.Add(-24*time.Hour).Format(time.DateOnly), "old@prod#1"},
		"from after to":         {"?from=2030-01-01&to=2020-01-01", ""},
		"second page":           {"?page_size=1&page=2", "mid@prod#2"},
		"page after the last":   {"?page=9", ""},
	} {
		t.Run(name, func(t *testing.T) { wantDeployments(s.In(t), path+c.query, c.want) })
	}
	page := s.Read(path + "?page_size=1")
	apitest.WantMembers(t, page, map[string]any{"page_size": 1.0, "total_pages": 2.0, "total_count": 2.0, "page": 1.0})
	next := s.FollowLink(page, "_links", "next", "href")
	apitest.WantMembers(t, next, map[string]any{"page_size": 1.0, "deployments.0.artifact_name": "/opt/mid"})
	if first := apitest.Lookup(t, s.Read(path), "_links", "first", "href").(string); !strings.HasSuffix(first, "?page=1&page_size=50") {
		t.Errorf("the first page is at %s", first)
	}
	apitest.Each(s, map[string]string{
		"?from=yesterday": "query.from", "?to=2026-13-01": "query.to", "?to=1700000000": "query.to", "?page=0": "query.page",
		"?page_size=0": "query.page_size", "?page_size=101": "query.page_size",
	}, func(s *apitest.Service, query, field string) {
		apitest.WantFault(s.T, s.Want(http.StatusBadRequest, http.MethodGet, path+query, nil), field)
	})
	if _, errors := s.Want(http.StatusBadRequest, http.MethodGet, path+"?from=x&to=y", nil).Problem(t); len(errors) != 2 {
		t.Errorf("both bounds are bad: %q", errors)
	}
	apitest.WantMessage(t, s.Want(http.StatusNotFound, http.MethodGet, s.EnvironmentsPath()+"/x/deployments", nil), "Environment named 'x' does not exist for organization '"+s.Org+"'")
}

func TestDeploymentFrequencyListsTheTimesOfDeployments(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	s.CreateEnvironment("prod", evidence.Server)
	s.ReportBuild(s.Org, "web-ci", "web", "web-0", "acme/web", "1")
	s.ReportServer("prod", "web-0")
	s.Clock.Advance(28 * 24 * time.Hour)
	for _, name := range []string{"web-1", "web-2", "db-1"} {
		flow, _, _ := strings.Cut(name, "-")
		s.ReportBuild(s.Org, flow+"-ci", flow, name, "acme/"+flow, flow)
	}
	s.ReportServer("prod", "web-1", "web-2", "db-1")
	s.ReportServer("prod", "web-1", "db-1", "intruder")
	// The same artifact under another name in the template is not another deployment.
	s.ReportBuild(s.Org, "web-ci", "image", "web-1", "acme/web", "1")
	s.ReportServer("prod", "web-1", "db-1", "intruder")
	s.CreateLogical("all", "prod", "prod")
	s.CreateLogical("none")
	apitest.Each(s, map[string]int{
		"/prod/deployment_frequency":                               4,
		"/all/deployment_frequency":                                4,
		"/none/deployment_frequency":                               0,
		"/prod/deployment_frequency?flow_id=" + s.FlowID("web-ci"): 2,
		"/all/deployment_frequency?flow_id=" + s.FlowID("web-ci"):  2,
		"/none/deployment_frequency?flow_id=" + s.FlowID("web-ci"): 0,
		"/prod/deployment_frequency?flow_id=" + s.FlowID("db-ci"):  1,
	}, func(s *apitest.Service, query string, want int) {
		got := s.Read(s.EnvironmentsPath() + query)
		series := apitest.Lookup(s.T, got, "deployed_at").([]any)
		apitest.WantMember(s.T, got, "count", float64(want))
		apitest.Equal(s.T, len(series), want)
		from, to := apitest.Lookup(s.T, got, "start_ts").(float64), apitest.Lookup(s.T, got, "end_ts").(float64)
		apitest.Equal(s.T, to-from, 28*24*3600, from, to)
		for i, moment := range series {
			if moment.(float64) < from || moment.(float64) > to || (i > 0 && moment.(float64) < series[i-1].(float64)) {
				s.T.Errorf("moments %v between %f and %f", series, from, to)
			}
		}
		_, id, _ := strings.Cut(query, "flow_id=")
		if name, _, _ := strings.Cut(query[1:], "/"); apitest.Lookup(s.T, got, "environment_name") != name ||
			(apitest.Lookup(s.T, got, "flow_id") == nil) != (id == "") || (id != "" && apitest.Lookup(s.T, got, "flow_id") != id) {
			s.T.Errorf("got %s", apitest.AsJSON(got))
		}
	})
	for name, id := range map[string]string{"name of a flow": "web-ci", "unknown flow": "00000000-0000-0000-0000-00000000", "empty flow": ""} {
		t.Run(name, func(t *testing.T) {
			s := s.In(t)
			apitest.WantMessage(t, s.Want(http.StatusNotFound, http.MethodGet, s.EnvironmentsPath()+"/prod/deployment_frequency?flow_id="+id, nil), "Flow '"+id+"' not found")
		})
	}
	apitest.WantMessage(t, s.Want(http.StatusNotFound, http.MethodGet, s.EnvironmentsPath()+"/x/deployment_frequency", nil), "Environment named 'x' does not exist for organization '"+s.Org+"'")
}

func TestStatisticsOfARepositoryAreGroupedByEnvironment(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("beta", evidence.Server)
	deployAndRollBack(s)
	s.CreateEnvironment("idle", evidence.Server)
	// The commit of web-9 has no time, so its deployment has no lead time.
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/web-ci", fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":"f","build_url":"b","commit_url":"c","git_commit":%q,"trail_name":"t","template_reference_name":"web",
		"repo_info":{"name":"acme/web","id":"1","url":"https://github.com/acme/web","provider":"github"}}`, evidence.HashAPIKey("web-9"), apitest.CommitOf("web-9")))
	s.ReportServer("beta", "web-1")
	s.ReportServer("beta", "web-9")
	s.CreateLogical("all", "prod", "beta", "idle")
	path := "/repos/" + s.Org + "/" + repoID(s, s.Org, "1") + "/deployment-statistics"
	apitest.Each(s, map[string]string{
		"":                   "beta 2 prod 4",
		"?env=beta":          "beta 2",
		"?env=idle":          "",
		"?env=all":           "beta 2 prod 4",
		"?env=prod&env=idle": "prod 4",
		"?env=":              "beta 2 prod 4",
		"?start_ts=1e10":     "",
	}, func(s *apitest.Service, query, want string) {
		got := s.Read(path + query)
		words := []string{}
		for _, series := range apitest.Lookup(s.T, got, "environments").([]any) {
			words = append(words, fmt.Sprint(apitest.Lookup(s.T, series, "environment_name"), " ",
				len(apitest.Lookup(s.T, series, "deployed_at").([]any))))
			name := apitest.Lookup(s.T, series, "environment_name").(string)
			if apitest.Lookup(s.T, series, "environment_id") != s.EnvironmentID(name) {
				s.T.Errorf("%s", apitest.AsJSON(series))
			}
		}
		apitest.Equal(s.T, strings.Join(words, " "), want)
	})
	got := s.Read(path + "?end_ts=5e9&start_ts=1e9")
	apitest.WantMembers(t, got, map[string]any{"start_ts": 1e9, "end_ts": 5e9})
	beta, prod := apitest.Lookup(t, got, "environments", 0), apitest.Lookup(t, got, "environments", 1)
	if leads := apitest.Lookup(t, beta, "lead_time_seconds").([]any); len(leads) != 2 || leads[0].(float64) < 3600 || leads[1] != nil {
		t.Errorf("lead times %v", leads)
	}
	moments, leads := apitest.Lookup(t, prod, "deployed_at").([]any), apitest.Lookup(t, prod, "lead_time_seconds").([]any)
	listed := apitest.Lookup(t, s.Read("/repos/"+s.Org+"/"+repoID(s, s.Org, "1")+"/deployments?env=prod"), "deployments").([]any)
	slices.Reverse(listed)
	if len(listed) == 0 || len(listed) != len(moments) {
		t.Fatalf("%d deployments, %d moments", len(listed), len(moments))
	}
	for i, deployment := range listed {
		apitest.WantMembers(t, deployment, map[string]any{"deployed_at": moments[i], "lead_time_seconds": leads[i]})
	}
}

func TestDeploymentsOfArchivedEnvironmentsStayListed(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	deployAndRollBack(s)
	s.RenameEnvironment("prod", "live")
	wantDeployments(s, "/deployments/"+s.Org+"?per_page=1", "web-2@live#4")
	wantDeployments(s, "/deployments/"+s.Org+"?per_page=1&env_name=prod", "web-2@live#4")
	apitest.WantMember(t, s.Read(s.EnvironmentsPath()+"/prod/deployment_frequency"), "environment_name", "live")
	s.ArchiveEnvironment("live")
	wantDeployments(s, "/deployments/"+s.Org+"?per_page=1", "web-2@live#4")
	if links := apitest.Lookup(t, s.Read("/deployments/"+s.Org), "deployments", 0, "_links").(map[string]any); len(links) != 0 {
		t.Errorf("an archived environment has links %v", links)
	}
	archived := "Environment named 'live' has been archived for organization '" + s.Org + "'"
	repo := "/repos/" + s.Org + "/" + repoID(s, s.Org, "1")
	apitest.EachOf(s, []string{
		"/deployments/" + s.Org + "?env_name=live", "/deployments/" + s.Org + "/live/" + evidence.HashAPIKey("web-2"),
		s.EnvironmentsPath() + "/live/deployments", s.EnvironmentsPath() + "/live/deployment_frequency",
		repo + "/deployments?env=live", repo + "/deployment-statistics?env=live",
	}, func(s *apitest.Service, path string) {
		apitest.WantMessage(s.T, s.Want(http.StatusNotFound, http.MethodGet, path, nil), archived)
	})
	if got := apitest.Lookup(t, s.Read(repo+"/deployment-statistics"), "environments", 0, "environment_name"); got != "live" {
		t.Errorf("statistics of %v", got)
	}
}

func TestDeploymentsStayWithinTheirOrganization(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	deployAndRollBack(s)
	wantDeployments(s, "/deployments/"+s.Public, "")
	repo, flow := repoID(s, s.Org, "1"), s.FlowID("web-ci")
	s.Want(http.StatusCreated, http.MethodPut, "/environments/"+s.Public, []byte(`{"name":"prod","type":"server","description":""}`))
	wantDeployments(s, "/deployments/"+s.Public+"?env_name=prod", "")
	wantDeployments(s, "/environments/"+s.Public+"/prod/deployments", "")
	for _, path := range []string{
		"/deployments/" + s.Public + "?repo_name=acme/web", "/deployments/" + s.Public + "/prod/" + evidence.HashAPIKey("web-2"),
		"/environments/" + s.Public + "/prod/deployment_frequency?flow_id=" + flow,
		"/repos/" + s.Public + "/" + repo + "/deployments", "/repos/" + s.Public + "/" + repo + "/deployment-statistics",
	} {
		t.Run(s.CaseName(path), func(t *testing.T) { s.In(t).Want(http.StatusNotFound, http.MethodGet, path, nil) })
	}
}

func TestDeploymentAndBuildListsCostTheSameHoweverMany(t *testing.T) {
	s, counting := apitest.StartCounting(t, apitest.Options{})
	s.CreateEnvironment("prod", evidence.Server)
	for _, name := range []string{"web-of-before", "web-0"} { // so that one deployment replaces another
		s.ReportBuild(s.Org, "ci-0", "web", name, "acme/web", "1")
		s.ReportServer("prod", name)
	}
	repo := repoID(s, s.Org, "1")
	paths := []string{
		"/deployments/" + s.Org + "?per_page=50", s.EnvironmentsPath() + "/prod/deployments", "/repos/" + s.Org + "/" + repo + "/deployments?per_page=50",
		"/repos/" + s.Org + "/" + repo + "/deployment-statistics", s.EnvironmentsPath() + "/prod/deployment_frequency",
		"/builds/" + s.Org + "?per_page=50", "/builds/" + s.Org + "/statistics", "/repos/" + s.Org + "/live-artifacts/acme/web",
	}
	commands := func(path string) int {
		least := -1
		// Background work sends commands too: the minimum is that of the request.
		for range 5 {
			counting.Reset()
			s.Read(path)
			if took := counting.Snapshot().Commands(); least < 0 || took < least {
				least = took
			}
		}
		return least
	}
	few := map[string]int{}
	for _, path := range paths {
		few[path] = commands(path)
	}
	names := []string{}
	for i := range 30 {
		names = append(names, fmt.Sprint("web-", i+1))
		s.ReportBuild(s.Org, fmt.Sprint("ci-", i%10), "web", names[i], "acme/web", "1")
	}
	s.ReportServer("prod", names...)
	for _, path := range paths {
		if many := commands(path); many > few[path] {
			t.Errorf("%s: %d commands for one, %d for thirty", path, few[path], many)
		}
	}
}
