package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
)

// commitOf returns an invented commit SHA for the name of an artifact.
func commitOf(name string) string { return evidence.HashAPIKey("commit of " + name)[:40] }

// reportBuild reports to a flow the artifact that serverReport reports under a name. Its commit is an hour old and in a
// repository at GitHub.
func (s *service) reportBuild(organization, flow, slot, name, repo, id string) {
	s.t.Helper()
	s.reportBuildFrom(organization, flow, slot, name,
		fmt.Sprintf(`{"name":%q,"id":%q,"url":"https://github.com/%s","provider":"github"}`, repo, id, repo), repo)
}

func (s *service) reportBuildFrom(organization, flow, slot, name, info, repo string) {
	s.t.Helper()
	commit, committed := commitOf(name), s.clock.read().Add(-time.Hour).Unix()
	address := "https://github.com/" + repo + "/commit/" + commit
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+organization+"/"+flow, fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":%q,"build_url":"b","commit_url":%q,"git_commit":%q,"trail_name":%q,"template_reference_name":%q,
		"git_commit_info":{"sha1":%q,"message":"m","author":"a","branch":"main","timestamp":%d,"url":%q},"repo_info":%s}`,
		evidence.HashAPIKey(name), name, address, commit, "trail-of-"+name, slot, commit, committed, address, info))
}

// repoID returns the internal id of a repository with an id at its provider.
func (s *service) repoID(organization, id string) string {
	s.t.Helper()
	return lookup(s.t, s.listRepos(organization, "?repo_id="+id), 0, "id").(string)
}

// listDeployments returns the deployments of a page as artifact@environment#snapshot.
func (s *service) listDeployments(path string) string {
	s.t.Helper()
	words := []string{}
	for _, deployment := range lookup(s.t, s.read(path), "deployments").([]any) {
		name := strings.TrimPrefix(lookup(s.t, deployment, "artifact_name").(string), "/opt/")
		words = append(words, fmt.Sprintf("%s@%s#%v", name, lookup(s.t, deployment, "env_name"), lookup(s.t, deployment, "snapshot_index")))
	}
	return strings.Join(words, " ")
}

func (s *service) wantDeployments(path, want string) {
	s.t.Helper()
	if got := s.listDeployments(path); got != want {
		s.t.Errorf("%s: got %q, want %q", path, got, want)
	}
}

func (s *service) wantTotals(path string, page, size, pages, count float64) {
	s.t.Helper()
	got := s.read(path)
	want := []any{page, size, pages, count}
	if have := []any{lookup(s.t, got, "page"), lookup(s.t, got, "per_page"), lookup(s.t, got, "total_pages"), lookup(s.t, got, "total_count")}; !slices.Equal(have, want) {
		s.t.Errorf("%s: totals %v, want %v", path, have, want)
	}
}

// followLink reads the resource at a link in an answer.
func (s *service) followLink(value any, path ...any) any {
	s.t.Helper()
	return s.read(strings.TrimPrefix(lookup(s.t, value, path...).(string), s.URL+"/api/v2"))
}

// deployAndRollBack deploys three builds in turn and then the second again.
func (s *service) deployAndRollBack() {
	s.t.Helper()
	s.createEnvironment("prod", evidence.Server)
	for _, name := range []string{"web-1", "web-2", "web-3"} {
		s.reportBuild(s.org, "web-ci", "web", name, "acme/web", "1")
		s.reportServer("prod", name)
	}
	s.reportServer("prod", "web-2")
}

func TestDeploymentsAndRollbacksAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.deployAndRollBack()
	page := s.read("/deployments/" + s.org)
	s.wantDeployments("/deployments/"+s.org, "web-2@prod#4 web-3@prod#3 web-2@prod#2 web-1@prod#1")
	s.wantTotals("/deployments/"+s.org, 1, 15, 1, 4)
	for i, before := range []string{"web-3 3", "web-2 2", "web-1 1", ""} {
		deployment := lookup(t, page, "deployments", i)
		replaced := lookup(t, deployment, "replaced_artifact")
		if lookup(t, deployment, "is_rollback") != (i == 0) {
			t.Errorf("deployment %d is shown as %s", i, asJSON(deployment))
		}
		if before == "" {
			if replaced != nil || lookup(t, deployment, "diff_url") != nil {
				t.Errorf("the first deployment replaced %s", asJSON(deployment))
			}
			continue
		}
		var name string
		var index float64
		fmt.Sscan(before, &name, &index)
		if lookup(t, replaced, "fingerprint") != evidence.HashAPIKey(name) || lookup(t, replaced, "artifact_name") != "/opt/"+name ||
			lookup(t, replaced, "snapshot_index") != index || lookup(t, replaced, "artifact", "git_commit") != commitOf(name) {
			t.Errorf("deployment %d replaced %s, want %s", i, asJSON(replaced), before)
		}
		now := strings.TrimPrefix(lookup(t, deployment, "artifact_name").(string), "/opt/")
		if diff := "https://github.com/acme/web/compare/" + commitOf(name) + "..." + commitOf(now); lookup(t, deployment, "diff_url") != diff {
			t.Errorf("deployment %d differs by %v, want %s", i, lookup(t, deployment, "diff_url"), diff)
		}
	}
}

func TestRestartAndRollForwardAreNotRollbacks(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.deployAndRollBack()
	s.reportServer("prod")
	s.reportServer("prod", "web-2") // the last deployed artifact again
	s.reportServer("prod", "web-3")
	page := s.read("/deployments/" + s.org)
	want := "web-3@prod#7 false, web-2@prod#6 false, web-2@prod#4 true, web-3@prod#3 false"
	var got []string
	for i := range 4 {
		deployment := lookup(t, page, "deployments", i)
		name := strings.TrimPrefix(lookup(t, deployment, "artifact_name").(string), "/opt/")
		got = append(got, fmt.Sprint(name, "@prod#", lookup(t, deployment, "snapshot_index"), " ", lookup(t, deployment, "is_rollback")))
	}
	if have := strings.Join(got, ", "); have != want {
		t.Errorf("got %s, want %s", have, want)
	}
	v := s.signedIn(readerKey)
	v.wantPage(http.StatusOK, "/"+s.org, "20 % of the changes rolled back")
	v.wantPage(http.StatusOK, "/"+s.org+"/deployments", "1 of 5 (20 %)")
}

// Which of two artifacts that began together is listed first depends only on their fingerprints.
func TestArtifactsThatWereStoppedTogetherAreRestarted(t *testing.T) {
	t.Parallel()
	for _, names := range [][2]string{{"web-1", "web-2"}, {"web-2", "web-1"}} {
		s := start(t, options{})
		s.createEnvironment("prod", evidence.Server)
		for _, name := range names {
			s.reportBuild(s.org, "web-ci", "web", name, "acme/web", "1")
		}
		reports := [][]string{{names[0]}, names[:], nil, names[:], nil, names[:], names[1:], names[:1]}
		for _, running := range reports {
			s.reportServer("prod", running...)
		}
		var rollbacks []string
		for _, deployment := range lookup(t, s.read("/deployments/"+s.org), "deployments").([]any) {
			if lookup(t, deployment, "is_rollback") == true {
				rollbacks = append(rollbacks, fmt.Sprint(lookup(t, deployment, "artifact_name"), "#", lookup(t, deployment, "snapshot_index")))
			}
		}
		// In snapshot 4, the first one seems to replace the other, which began to run later than it.
		if want := []string{"/opt/" + names[0] + "#8", "/opt/" + names[0] + "#4"}; !slices.Equal(rollbacks, want) {
			t.Errorf("%v: rollbacks are %v, want %v", names, rollbacks, want)
		}
	}
}

func TestDeploymentShowsProvenance(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.deployAndRollBack()
	deployment := s.read("/deployments/" + s.org + "/prod/" + evidence.HashAPIKey("web-1"))
	assertKeys(t, "a deployment", deployment.(map[string]any), "fingerprint", "deployed_at", "artifact_name", "env_name", "snapshot_index",
		"artifact", "replaced_artifact", "diff_url", "lead_time_seconds", "is_rollback", "_links")
	artifact := lookup(t, deployment, "artifact")
	for member, want := range map[string]any{
		"flow_name": "web-ci", "trail_name": "trail-of-web-1", "template_reference_name": "web", "git_commit": commitOf("web-1"),
	} {
		if got := lookup(t, artifact, member); got != want {
			t.Errorf("%s is %v, want %v", member, got, want)
		}
	}
	if lookup(t, artifact, "repo_info", "name") != "acme/web" || lookup(t, artifact, "repo_info", "repo_id") != "1" ||
		lookup(t, artifact, "git_commit_info", "branch") != "main" {
		t.Errorf("the artifact is %s", asJSON(artifact))
	}
	committed := lookup(t, artifact, "git_commit_info", "timestamp").(float64)
	deployed := lookup(t, deployment, "deployed_at").(float64)
	if lead := lookup(t, deployment, "lead_time_seconds").(float64); lead < 3600 || lead > 3700 || evidence.RoundSeconds(deployed-committed) != lead {
		t.Errorf("lead time %v, deployed at %f, committed at %f", lead, deployed, committed)
	}
	if lookup(t, deployment, "_links", "html", "href") != s.URL+"/"+s.org+"/environments/prod/snapshots/1" {
		t.Errorf("links %s", asJSON(lookup(t, deployment, "_links")))
	}
	if again := s.followLink(deployment, "_links", "self", "href"); !reflect.DeepEqual(again, deployment) {
		t.Errorf("its self link shows %s", asJSON(again))
	}
	if lookup(t, s.followLink(deployment, "_links", "environment", "href"), "name") != "prod" {
		t.Errorf("links %s", asJSON(lookup(t, deployment, "_links")))
	}
}

func TestLastDeploymentIsReadByEnvironmentAndFingerprint(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.deployAndRollBack()
	s.createEnvironment("beta", evidence.Server)
	s.createLogical("all", "prod", "beta")
	s.createLogical("none")
	path, fingerprint := "/deployments/"+s.org, evidence.HashAPIKey("web-2")
	for name, rest := range map[string]string{
		"physical environment": "/prod/" + fingerprint,
		"in capitals":          "/prod/" + strings.ToUpper(fingerprint),
		"logical environment":  "/all/" + fingerprint,
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.in(t).read(path + rest); lookup(t, got, "snapshot_index") != 4.0 || lookup(t, got, "env_name") != "prod" {
				t.Errorf("got %s", asJSON(got))
			}
		})
	}
	for name, fingerprint := range map[string]string{
		"of another artifact": evidence.HashAPIKey("web-9"), "prefix of a fingerprint": fingerprint[:40], "one letter": "x", "escaped": "%23",
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			plain, err := url.PathUnescape(fingerprint)
			s.must(err)
			wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, path+"/prod/"+fingerprint, nil), "Deployment of '"+plain+"' to environment 'prod' not found")
		})
	}
	for _, environment := range []string{"beta", "none"} {
		t.Run(environment, func(t *testing.T) {
			s.in(t).want(http.StatusNotFound, http.MethodGet, path+"/"+environment+"/"+fingerprint, nil)
		})
	}
	wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, path+"/elsewhere/"+fingerprint, nil),
		"Environment named 'elsewhere' does not exist for organization '"+s.org+"'")
}

func TestDeploymentsAreFilteredByTime(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.createEnvironment("prod", evidence.Server)
	s.reportServer("prod", "old")
	s.clock.advance(29 * 24 * time.Hour)
	s.reportServer("prod", "new")
	path := "/deployments/" + s.org
	s.wantDeployments(path, "new@prod#2")
	times := []float64{}
	for _, deployment := range lookup(t, s.read(path+"?start_ts=0"), "deployments").([]any) {
		times = append(times, lookup(t, deployment, "deployed_at").(float64))
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
		t.Run(name, func(t *testing.T) { s.in(t).wantDeployments(path+c.query, c.want) })
	}
	s.wantTotals(fmt.Sprintf("%s?start_ts=%f&end_ts=%f", path, newer, older), 1, 15, 0, 0)
	for _, bad := range []string{"", "x", "nan", "inf", "1e999", "2026-01-01"} {
		for _, bound := range []string{"start_ts", "end_ts"} {
			for _, list := range []string{path, "/builds/" + s.org, "/builds/" + s.org + "/statistics"} {
				t.Run(s.caseName(list+"?"+bound+"="+bad), func(t *testing.T) {
					s := s.in(t)
					message, errors := s.want(http.StatusBadRequest, http.MethodGet, list+"?"+bound+"="+bad, nil).problem(t)
					if message != "Input payload validation failed" || !strings.HasSuffix(errors["query."+bound], "[input: "+bad+"]") && bad != "1e999" {
						t.Errorf("%q %q", message, errors)
					}
				})
			}
		}
	}
}

func TestDeploymentsArePaged(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.deployAndRollBack()
	path := "/deployments/" + s.org
	for query, want := range map[string]string{
		"?per_page=3":                "web-2@prod#4 web-3@prod#3 web-2@prod#2",
		"?per_page=3&page=2":         "web-1@prod#1",
		"?per_page=3&page=3":         "",
		"?per_page=50&page=99999999": "",
		"?per_page=0":                "",
		"?per_page=0&page=2":         "",
	} {
		t.Run(s.caseName(query), func(t *testing.T) { s.in(t).wantDeployments(path+query, want) })
	}
	s.wantTotals(path+"?per_page=3&page=2", 2, 3, 2, 4)
	s.wantTotals(path+"?per_page=0", 1, 0, 0, 4)
	first := s.read(path + "?per_page=3&end_ts=9e9&start_ts=1")
	if next := s.followLink(first, "_links", "next", "href"); lookup(t, next, "deployments", 0, "artifact_name") != "/opt/web-1" || len(lookup(t, next, "deployments").([]any)) != 1 {
		t.Errorf("the next page is %s", asJSON(next))
	}
	for query, field := range map[string]string{
		"?page=0": "query.page", "?per_page=-1": "query.per_page", "?per_page=51": "query.per_page", "?page=x": "query.page",
	} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			if _, errors := s.want(http.StatusBadRequest, http.MethodGet, path+query, nil).problem(t); errors[field] == "" {
				t.Errorf("%q", errors)
			}
		})
	}
}

func TestDeploymentsAreFilteredByEnvironmentAndRepository(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.deployAndRollBack()
	s.createEnvironment("beta", evidence.Server)
	s.reportBuild(s.org, "db-ci", "db", "db-1", "acme/db", "2")
	s.reportServer("beta", "db-1", "web-3")
	s.createLogical("all", "prod", "beta", "prod")
	s.createLogical("none")
	path := "/deployments/" + s.org
	for query, want := range map[string]string{
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
	} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			got := strings.Fields(s.listDeployments(path + query))
			if want := strings.Fields(want); !slices.Equal(sorted(got), sorted(want)) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, path+"?repo_name=acme/x", nil), "Repo 'acme/x' not found")
	wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, path+"?env_name=x", nil), "Environment named 'x' does not exist for organization '"+s.org+"'")
	wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, path+"?env_name=", nil), "Environment named '' does not exist for organization '"+s.org+"'")
	s.want(http.StatusBadRequest, http.MethodGet, path+"?env_name=%00", nil)
}

// sorted sorts deployments: those of the same time have no fixed order in an answer.
func sorted(words []string) []string {
	sorted := slices.Clone(words)
	slices.Sort(sorted)
	return sorted
}

func TestDeploymentsOfARepositoryAreFilteredByLogicalEnvironment(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.createEnvironment("beta", evidence.Server)
	s.createEnvironment("other", evidence.Server)
	s.createLogical("all", "prod", "beta")
	s.reportBuildFrom(s.org, "ci", "web", "hub", `{"name":"acme/web","id":"1","url":"https://github.com/acme/web","provider":"github"}`, "acme/web")
	s.reportBuildFrom(s.org, "ci", "web", "lab", `{"name":"acme/web","id":"1","url":"https://gitlab.com/acme/web","provider":"gitlab"}`, "acme/web")
	s.reportServer("prod", "hub")
	s.reportServer("beta", "lab")
	s.reportServer("other", "hub")
	s.reportServer("beta", "lab", "hub")
	path := "/deployments/" + s.org + "?repo_name=acme/web&provider="
	s.wantDeployments(path+"github", "hub@beta#2 hub@other#1 hub@prod#1")
	s.wantDeployments(path+"gitlab", "lab@beta#1")
	s.wantDeployments(path+"github&env_name=all", "hub@beta#2 hub@prod#1")
	s.wantTotals(path+"github&env_name=all", 1, 15, 1, 2)
	s.wantDeployments(path+"github&env_name=all&per_page=1&page=2", "hub@prod#1")
}

func TestDeploymentOfTwoRepositoriesShowsTheProvenanceOfEach(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.reportBuild(s.org, "web-ci", "web", "web-1", "acme/web", "1")
	s.reportBuild(s.org, "promotion", "image", "web-1", "acme/ops", "2")
	s.reportServer("prod", "web-1")
	for id, flow := range map[string]string{"1": "web-ci", "2": "promotion"} {
		t.Run(flow, func(t *testing.T) {
			s := s.in(t)
			got := s.read("/repos/" + s.org + "/" + s.repoID(s.org, id) + "/deployments")
			if items := lookup(t, got, "deployments").([]any); len(items) != 1 || lookup(t, items[0], "artifact", "flow_name") != flow || lookup(t, items[0], "artifact", "repo_info", "repo_id") != id {
				t.Errorf("repo %s lists %s", id, asJSON(got))
			}
		})
	}
	// The list of the organization has the deployment once, with the flow that built the artifact.
	all := lookup(t, s.read("/deployments/"+s.org), "deployments").([]any)
	if len(all) != 1 || lookup(t, all[0], "artifact", "flow_name") != "web-ci" {
		t.Errorf("listed %s", asJSON(all))
	}
}

func TestDeploymentsOfARepositoryAreFilteredByEnvironments(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.deployAndRollBack()
	s.createEnvironment("beta", evidence.Server)
	s.createEnvironment("idle", evidence.Server)
	s.reportServer("beta", "web-1")
	s.createLogical("all", "prod", "beta", "idle")
	path := "/repos/" + s.org + "/" + s.repoID(s.org, "1") + "/deployments"
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
		t.Run(s.caseName(query), func(t *testing.T) { s.in(t).wantDeployments(path+query, want) })
	}
	s.wantTotals(path+"?env=prod", 1, 15, 1, 4)
	for _, operation := range []string{"deployments", "deployment-statistics"} {
		t.Run(operation, func(t *testing.T) {
			s := s.in(t)
			base := "/repos/" + s.org + "/" + s.repoID(s.org, "1") + "/" + operation
			wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, base+"?env=beta&env=x", nil), "Environment named 'x' does not exist for organization '"+s.org+"'")
			wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, "/repos/"+s.org+"/00000000-0000-0000-0000-00000000/"+operation, nil), "Repo '00000000-0000-0000-0000-00000000' not found")
			if _, errors := s.want(http.StatusBadRequest, http.MethodGet, base+"?end_ts=x", nil).problem(t); errors["query.end_ts"] == "" {
				t.Errorf("%q", errors)
			}
		})
	}
}

func TestArtifactWithoutProvenanceIsDeployed(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.reportServer("prod", "intruder")
	deployment := s.read("/deployments/" + s.org + "/prod/" + evidence.HashAPIKey("intruder"))
	for _, member := range []string{"artifact", "replaced_artifact", "diff_url", "lead_time_seconds"} {
		if value := lookup(t, deployment, member); value != nil {
			t.Errorf("%s of an unknown artifact is %v", member, value)
		}
	}
	// When a flow reports the artifact later, the deployment keeps the time at which the artifact started and its name then.
	renamed := fmt.Sprintf(`{"artifacts":[{"digests":{"renamed":%q},"creationTimestamp":1}]}`, evidence.HashAPIKey("intruder"))
	s.report(http.StatusOK, "prod", "server", renamed)
	s.reportBuild(s.org, "web-ci", "web", "intruder", "acme/web", "1")
	s.report(http.StatusCreated, "prod", "server", renamed)
	for _, path := range []string{"/deployments/" + s.org, "/repos/" + s.org + "/" + s.repoID(s.org, "1") + "/deployments"} {
		t.Run(s.caseName(path), func(t *testing.T) {
			s := s.in(t)
			found := lookup(t, s.read(path), "deployments").([]any)
			if len(found) != 1 || lookup(t, found[0], "artifact", "flow_name") != "web-ci" ||
				lookup(t, found[0], "deployed_at") != lookup(t, deployment, "deployed_at") || lookup(t, found[0], "snapshot_index") != 1.0 || lookup(t, found[0], "artifact_name") != "/opt/intruder" {
				t.Errorf("%s", asJSON(found))
			}
		})
	}
}

func TestDeploymentsOfAnEnvironmentHaveTimesInISO8601(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.createEnvironment("prod", evidence.Server)
	s.reportServer("prod", "old")
	s.clock.advance(31 * 24 * time.Hour)
	s.reportServer("prod", "mid")
	s.reportServer("prod", "new")
	path := s.environmentsPath() + "/prod/deployments"
	s.wantDeployments(path, "new@prod#3 mid@prod#2")
	items := lookup(t, s.read(path), "deployments").([]any)
	seconds := lookup(t, s.read("/deployments/"+s.org), "deployments").([]any)
	for i := range items {
		read, err := time.Parse(time.RFC3339Nano, lookup(t, items[i], "deployed_at").(string))
		if err != nil || read.Location() != time.UTC || evidence.Seconds(read) != lookup(t, seconds[i], "deployed_at") {
			t.Errorf("deployed at %v, which is %v (%v)", lookup(t, items[i], "deployed_at"), read, err)
		}
	}
	newest, err := time.Parse(time.RFC3339Nano, lookup(t, items[0], "deployed_at").(string))
	s.must(err)
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
		t.Run(name, func(t *testing.T) { s.in(t).wantDeployments(path+c.query, c.want) })
	}
	page := s.read(path + "?page_size=1")
	if lookup(t, page, "page_size") != 1.0 || lookup(t, page, "total_pages") != 2.0 || lookup(t, page, "total_count") != 2.0 || lookup(t, page, "page") != 1.0 {
		t.Errorf("page %s", asJSON(page))
	}
	next := s.followLink(page, "_links", "next", "href")
	if lookup(t, next, "page_size") != 1.0 || lookup(t, next, "deployments", 0, "artifact_name") != "/opt/mid" {
		t.Errorf("the next page is %s", asJSON(next))
	}
	if first := lookup(t, s.read(path), "_links", "first", "href").(string); !strings.HasSuffix(first, "?page=1&page_size=50") {
		t.Errorf("the first page is at %s", first)
	}
	for query, field := range map[string]string{
		"?from=yesterday": "query.from", "?to=2026-13-01": "query.to", "?to=1700000000": "query.to", "?page=0": "query.page",
		"?page_size=0": "query.page_size", "?page_size=101": "query.page_size",
	} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			message, errors := s.want(http.StatusBadRequest, http.MethodGet, path+query, nil).problem(t)
			if message != "Input payload validation failed" || errors[field] == "" {
				t.Errorf("%q %q", message, errors)
			}
		})
	}
	if _, errors := s.want(http.StatusBadRequest, http.MethodGet, path+"?from=x&to=y", nil).problem(t); len(errors) != 2 {
		t.Errorf("both bounds are bad: %q", errors)
	}
	wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, s.environmentsPath()+"/x/deployments", nil), "Environment named 'x' does not exist for organization '"+s.org+"'")
}

// flowID returns the id of a flow.
func (s *service) flowID(name string) string {
	s.t.Helper()
	return lookup(s.t, s.read("/flows/"+s.org+"/"+name), "id").(string)
}

func TestDeploymentFrequencyListsTheTimesOfDeployments(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.createEnvironment("prod", evidence.Server)
	s.reportBuild(s.org, "web-ci", "web", "web-0", "acme/web", "1")
	s.reportServer("prod", "web-0")
	s.clock.advance(28 * 24 * time.Hour)
	for _, name := range []string{"web-1", "web-2", "db-1"} {
		flow, _, _ := strings.Cut(name, "-")
		s.reportBuild(s.org, flow+"-ci", flow, name, "acme/"+flow, flow)
	}
	s.reportServer("prod", "web-1", "web-2", "db-1")
	s.reportServer("prod", "web-1", "db-1", "intruder")
	// The same artifact under another name in the template is not another deployment.
	s.reportBuild(s.org, "web-ci", "image", "web-1", "acme/web", "1")
	s.reportServer("prod", "web-1", "db-1", "intruder")
	s.createLogical("all", "prod", "prod")
	s.createLogical("none")
	for query, want := range map[string]int{
		"/prod/deployment_frequency":                               4,
		"/all/deployment_frequency":                                4,
		"/none/deployment_frequency":                               0,
		"/prod/deployment_frequency?flow_id=" + s.flowID("web-ci"): 2,
		"/all/deployment_frequency?flow_id=" + s.flowID("web-ci"):  2,
		"/none/deployment_frequency?flow_id=" + s.flowID("web-ci"): 0,
		"/prod/deployment_frequency?flow_id=" + s.flowID("db-ci"):  1,
	} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			got := s.read(s.environmentsPath() + query)
			series := lookup(t, got, "deployed_at").([]any)
			if lookup(t, got, "count") != float64(want) || len(series) != want {
				t.Errorf("got %s, want %d", asJSON(got), want)
			}
			from, to := lookup(t, got, "start_ts").(float64), lookup(t, got, "end_ts").(float64)
			if to-from != 28*24*3600 {
				t.Errorf("from %f to %f", from, to)
			}
			for i, moment := range series {
				if moment.(float64) < from || moment.(float64) > to || (i > 0 && moment.(float64) < series[i-1].(float64)) {
					t.Errorf("moments %v between %f and %f", series, from, to)
				}
			}
			_, id, _ := strings.Cut(query, "flow_id=")
			if name, _, _ := strings.Cut(query[1:], "/"); lookup(t, got, "environment_name") != name || (lookup(t, got, "flow_id") == nil) != (id == "") || (id != "" && lookup(t, got, "flow_id") != id) {
				t.Errorf("got %s", asJSON(got))
			}
		})
	}
	for name, id := range map[string]string{"name of a flow": "web-ci", "unknown flow": "00000000-0000-0000-0000-00000000", "empty flow": ""} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, s.environmentsPath()+"/prod/deployment_frequency?flow_id="+id, nil), "Flow '"+id+"' not found")
		})
	}
	wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, s.environmentsPath()+"/x/deployment_frequency", nil), "Environment named 'x' does not exist for organization '"+s.org+"'")
}

func TestStatisticsOfARepositoryAreGroupedByEnvironment(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("beta", evidence.Server)
	s.deployAndRollBack()
	s.createEnvironment("idle", evidence.Server)
	// The commit of web-9 has no time, so its deployment has no lead time.
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/web-ci", fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":"f","build_url":"b","commit_url":"c","git_commit":%q,"trail_name":"t","template_reference_name":"web",
		"repo_info":{"name":"acme/web","id":"1","url":"https://github.com/acme/web","provider":"github"}}`, evidence.HashAPIKey("web-9"), commitOf("web-9")))
	s.reportServer("beta", "web-1")
	s.reportServer("beta", "web-9")
	s.createLogical("all", "prod", "beta", "idle")
	path := "/repos/" + s.org + "/" + s.repoID(s.org, "1") + "/deployment-statistics"
	for query, want := range map[string]string{
		"":                   "beta 2 prod 4",
		"?env=beta":          "beta 2",
		"?env=idle":          "",
		"?env=all":           "beta 2 prod 4",
		"?env=prod&env=idle": "prod 4",
		"?env=":              "beta 2 prod 4",
		"?start_ts=1e10":     "",
	} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			got := s.read(path + query)
			words := []string{}
			for _, series := range lookup(t, got, "environments").([]any) {
				words = append(words, fmt.Sprint(lookup(t, series, "environment_name"), " ", len(lookup(t, series, "deployed_at").([]any))))
				if lookup(t, series, "environment_id") != s.environmentID(lookup(t, series, "environment_name").(string)) {
					t.Errorf("%s", asJSON(series))
				}
			}
			if line := strings.Join(words, " "); line != want {
				t.Errorf("got %q, want %q", line, want)
			}
		})
	}
	got := s.read(path + "?end_ts=5e9&start_ts=1e9")
	if lookup(t, got, "start_ts") != 1e9 || lookup(t, got, "end_ts") != 5e9 {
		t.Errorf("window %s", asJSON(got))
	}
	beta, prod := lookup(t, got, "environments", 0), lookup(t, got, "environments", 1)
	if leads := lookup(t, beta, "lead_time_seconds").([]any); len(leads) != 2 || leads[0].(float64) < 3600 || leads[1] != nil {
		t.Errorf("lead times %v", leads)
	}
	moments, leads := lookup(t, prod, "deployed_at").([]any), lookup(t, prod, "lead_time_seconds").([]any)
	listed := lookup(t, s.read("/repos/"+s.org+"/"+s.repoID(s.org, "1")+"/deployments?env=prod"), "deployments").([]any)
	slices.Reverse(listed)
	if len(listed) == 0 || len(listed) != len(moments) {
		t.Fatalf("%d deployments, %d moments", len(listed), len(moments))
	}
	for i, deployment := range listed {
		if lookup(t, deployment, "deployed_at") != moments[i] || lookup(t, deployment, "lead_time_seconds") != leads[i] {
			t.Errorf("moment %d: %v after %v, listed %s", i, moments[i], leads[i], asJSON(deployment))
		}
	}
}

func TestDeploymentsOfArchivedEnvironmentsStayListed(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.deployAndRollBack()
	s.renameEnvironment("prod", "live")
	s.wantDeployments("/deployments/"+s.org+"?per_page=1", "web-2@live#4")
	s.wantDeployments("/deployments/"+s.org+"?per_page=1&env_name=prod", "web-2@live#4")
	if got := s.read(s.environmentsPath() + "/prod/deployment_frequency"); lookup(t, got, "environment_name") != "live" {
		t.Errorf("got %s", asJSON(got))
	}
	s.archiveEnvironment("live")
	s.wantDeployments("/deployments/"+s.org+"?per_page=1", "web-2@live#4")
	if links := lookup(t, s.read("/deployments/"+s.org), "deployments", 0, "_links").(map[string]any); len(links) != 0 {
		t.Errorf("an archived environment has links %v", links)
	}
	archived := "Environment named 'live' has been archived for organization '" + s.org + "'"
	repo := "/repos/" + s.org + "/" + s.repoID(s.org, "1")
	for _, path := range []string{
		"/deployments/" + s.org + "?env_name=live", "/deployments/" + s.org + "/live/" + evidence.HashAPIKey("web-2"),
		s.environmentsPath() + "/live/deployments", s.environmentsPath() + "/live/deployment_frequency",
		repo + "/deployments?env=live", repo + "/deployment-statistics?env=live",
	} {
		t.Run(s.caseName(path), func(t *testing.T) {
			s := s.in(t)
			wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, path, nil), archived)
		})
	}
	if got := lookup(t, s.read(repo+"/deployment-statistics"), "environments", 0, "environment_name"); got != "live" {
		t.Errorf("statistics of %v", got)
	}
}

func TestDeploymentsStayWithinTheirOrganization(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.deployAndRollBack()
	s.wantDeployments("/deployments/"+s.public, "")
	repo, flow := s.repoID(s.org, "1"), s.flowID("web-ci")
	s.want(http.StatusCreated, http.MethodPut, "/environments/"+s.public, []byte(`{"name":"prod","type":"server","description":""}`))
	s.wantDeployments("/deployments/"+s.public+"?env_name=prod", "")
	s.wantDeployments("/environments/"+s.public+"/prod/deployments", "")
	for _, path := range []string{
		"/deployments/" + s.public + "?repo_name=acme/web", "/deployments/" + s.public + "/prod/" + evidence.HashAPIKey("web-2"),
		"/environments/" + s.public + "/prod/deployment_frequency?flow_id=" + flow,
		"/repos/" + s.public + "/" + repo + "/deployments", "/repos/" + s.public + "/" + repo + "/deployment-statistics",
	} {
		t.Run(s.caseName(path), func(t *testing.T) { s.in(t).want(http.StatusNotFound, http.MethodGet, path, nil) })
	}
}

func TestDeploymentAndBuildListsCostTheSameHoweverMany(t *testing.T) {
	s, counting := startCounting(t, options{})
	s.createEnvironment("prod", evidence.Server)
	for _, name := range []string{"web-of-before", "web-0"} { // so that one deployment replaces another
		s.reportBuild(s.org, "ci-0", "web", name, "acme/web", "1")
		s.reportServer("prod", name)
	}
	repo := s.repoID(s.org, "1")
	paths := []string{
		"/deployments/" + s.org + "?per_page=50", s.environmentsPath() + "/prod/deployments", "/repos/" + s.org + "/" + repo + "/deployments?per_page=50",
		"/repos/" + s.org + "/" + repo + "/deployment-statistics", s.environmentsPath() + "/prod/deployment_frequency",
		"/builds/" + s.org + "?per_page=50", "/builds/" + s.org + "/statistics", "/repos/" + s.org + "/live-artifacts/acme/web",
	}
	commands := func(path string) int {
		least := -1
		// Background work sends commands too: the minimum is that of the request.
		for range 5 {
			counting.Reset()
			s.read(path)
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
		s.reportBuild(s.org, fmt.Sprint("ci-", i%10), "web", names[i], "acme/web", "1")
	}
	s.reportServer("prod", names...)
	for _, path := range paths {
		if many := commands(path); many > few[path] {
			t.Errorf("%s: %d commands for one, %d for thirty", path, few[path], many)
		}
	}
}
