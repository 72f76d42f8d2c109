package e2e_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/snapshot"
)

// listLiveArtifacts lists the running artifacts of a repository as artifact@environment#snapshot.
func (s *service) listLiveArtifacts(path string) string {
	s.t.Helper()
	got := s.read("/repos/" + s.org + "/live-artifacts/" + path)
	names := map[any]any{}
	for _, one := range lookup(s.t, got, "_embedded", "environments").([]any) {
		names[lookup(s.t, one, "id")] = lookup(s.t, one, "name")
	}
	ids := map[any]bool{}
	for _, one := range lookup(s.t, got, "_embedded", "artifacts").([]any) {
		ids[lookup(s.t, one, "id")] = true
	}
	words := []string{}
	for _, one := range lookup(s.t, got, "live_artifacts").([]any) {
		if !ids[lookup(s.t, one, "artifact_id")] {
			s.t.Errorf("nothing is embedded for %s", asJSON(one))
		}
		name := strings.TrimPrefix(lookup(s.t, one, "artifact_name").(string), "/opt/")
		words = append(words, fmt.Sprintf("%s@%s#%v", name, names[lookup(s.t, one, "environment_id")], lookup(s.t, one, "snapshot_index")))
	}
	return strings.Join(words, " ")
}

func (s *service) wantLiveArtifacts(path, want string) {
	s.t.Helper()
	if got := s.listLiveArtifacts(path); got != want {
		s.t.Errorf("%s: got %q, want %q", path, got, want)
	}
}

func TestLiveArtifactsAreTheRunningOnesOfARepository(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.deployAndRollBack()
	s.createEnvironment("beta", evidence.Server)
	s.reportBuild(s.org, "db-ci", "db", "db-1", "acme/db", "2")
	s.reportServer("beta", "web-1", "db-1")
	s.reportServer("beta", "web-1", "web-3", "intruder")
	s.wantLiveArtifacts("acme%2Fweb", "web-3@beta#2 web-1@beta#2 web-2@prod#4")
	s.wantLiveArtifacts("acme%2Fdb", "")
	got := s.read("/repos/" + s.org + "/live-artifacts/acme/web")
	entry := lookup(t, got, "live_artifacts", 1)
	began := lookup(t, s.read("/deployments/"+s.org+"/beta/"+evidence.HashAPIKey("web-1")), "deployed_at")
	if lookup(t, entry, "fingerprint") != evidence.HashAPIKey("web-1") || lookup(t, entry, "commit_sha") != commitOf("web-1") ||
		lookup(t, entry, "started_at") != began || lookup(t, entry, "compliance") != nil || lookup(t, entry, "environment_id") != s.environmentID("beta") {
		t.Errorf("began at %v, live %s", began, asJSON(entry))
	}
	if artifacts, environments := lookup(t, got, "_embedded", "artifacts").([]any), lookup(t, got, "_embedded", "environments"); len(artifacts) != 3 || column(t, environments, "name") != "beta prod" {
		t.Errorf("embedded %s", asJSON(lookup(t, got, "_embedded")))
	}
	for _, one := range lookup(t, got, "_embedded", "artifacts").([]any) {
		artifact := s.followLink(one, "_links", "self", "href")
		if lookup(t, artifact, "id") != lookup(t, one, "id") || lookup(t, artifact, "git_commit") != lookup(t, one, "commit_sha") || lookup(t, artifact, "commit_url") != lookup(t, one, "commit_url") {
			t.Errorf("embedded %s, which is %s", asJSON(one), asJSON(artifact))
		}
	}
	if again := s.followLink(got, "_links", "self", "href"); !reflect.DeepEqual(again, got) {
		t.Errorf("its own link leads to %s", asJSON(again))
	}
	if snapshot := s.followLink(entry, "_links", "snapshot", "href"); lookup(t, snapshot, "index") != 2.0 {
		t.Errorf("its snapshot is %s", asJSON(snapshot))
	}
	// The snapshot is the latest one, also if another artifact changed in it.
	s.reportServer("beta", "web-1", "web-3")
	s.wantLiveArtifacts("acme%2Fweb", "web-3@beta#3 web-1@beta#3 web-2@prod#4")
}

func TestLiveArtifactLinksToTheRecordOfItsRepository(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.reportBuild(s.org, "web-ci", "web", "web-1", "acme/web", "1")
	s.reportBuild(s.org, "promotion", "image", "web-1", "acme/ops", "2")
	s.reportServer("prod", "web-1")
	for repo, flow := range map[string]string{"acme%2Fweb": "web-ci", "acme%2Fops": "promotion"} {
		t.Run(flow, func(t *testing.T) {
			s := s.in(t)
			s.wantLiveArtifacts(repo, "web-1@prod#1")
			embedded := lookup(t, s.read("/repos/"+s.org+"/live-artifacts/"+repo), "_embedded", "artifacts", 0)
			if artifact := s.followLink(embedded, "_links", "self", "href"); lookup(t, artifact, "flow_name") != flow || lookup(t, artifact, "id") != lookup(t, embedded, "id") {
				t.Errorf("%s: embedded %s, which is %s", repo, asJSON(embedded), asJSON(artifact))
			}
		})
	}
}

func TestLiveArtifactsOfAnAmbiguousNameAreThoseOfTheNewestRepository(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.reportBuild(s.org, "web-ci", "web", "hub", "acme/web", "1")
	s.reportBuildFrom(s.org, "web-ci", "web", "lab", `{"name":"acme/web","id":"2","url":"https://gitlab.com/acme/web","provider":"gitlab"}`, "acme/web")
	s.reportServer("prod", "hub", "lab")
	id := s.repoID(s.org, "1")
	for name, c := range map[string]struct{ path, want string }{
		"name alone":                  {"acme/web", "lab@prod#1"},
		"escaped name":                {"acme%2Fweb?provider=gitlab", "lab@prod#1"},
		"one provider":                {"acme/web?provider=github", "hub@prod#1"},
		"the other provider":          {"acme/web?provider=gitlab", "lab@prod#1"},
		"id":                          {"acme/web?id=" + id, "hub@prod#1"},
		"id before name and provider": {"x?provider=gitlab&id=" + id, "hub@prod#1"},
	} {
		t.Run(name, func(t *testing.T) { s.in(t).wantLiveArtifacts(c.path, c.want) })
	}
	for path, name := range map[string]string{"acme/x": "acme/x", "acme/web?provider=bitbucket": "acme/web", "acme/web?id=x": "x"} {
		t.Run(s.caseName(path), func(t *testing.T) {
			s := s.in(t)
			wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, "/repos/"+s.org+"/live-artifacts/"+path, nil), "Repo '"+name+"' not found")
		})
	}
	if _, errors := s.want(http.StatusBadRequest, http.MethodGet, "/repos/"+s.org+"/live-artifacts/acme/web?provider=x", nil).problem(t); errors["query.provider"] == "" {
		t.Errorf("a provider that is none: %q", errors)
	}
}

func TestNothingIsLiveInArchivedEnvironmentsOrOtherOrganizations(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.deployAndRollBack()
	s.createEnvironment("beta", evidence.Server)
	s.reportServer("beta", "web-1")
	s.archiveEnvironment("prod")
	s.wantLiveArtifacts("acme%2Fweb", "web-1@beta#1")
	if environments := lookup(t, s.read("/repos/"+s.org+"/live-artifacts/acme/web"), "_embedded", "environments"); column(t, environments, "name") != "beta" {
		t.Errorf("embedded %s", asJSON(environments))
	}
	s.want(http.StatusNotFound, http.MethodGet, "/repos/"+s.public+"/live-artifacts/acme/web", nil)
	s.want(http.StatusNotFound, http.MethodGet, "/repos/"+s.public+"/live-artifacts/x?id="+s.repoID(s.org, "1"), nil)
	path := "/api/v2/repos/" + s.org + "/live-artifacts/acme/web"
	if got := s.do(http.MethodGet, path, readerKey, nil); got.status != http.StatusOK {
		t.Errorf("as a reader: %d", got.status)
	}
	if got := s.do(http.MethodGet, path, strangerKey, nil); got.status != http.StatusForbidden {
		t.Errorf("as a stranger: %d", got.status)
	}
}

func TestLiveArtifactShowsItsLatestVerdictInItsEnvironment(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.createEnvironment("beta", evidence.Server)
	s.reportBuild(s.org, "web-ci", "web", "web-1", "acme/web", "1")
	s.reportServer("prod", "web-1")
	s.reportServer("beta", "web-1")
	for i, verdict := range []bool{false, true, false} {
		word := map[bool]string{true: "COMPLIANT", false: "NON-COMPLIANT"}[verdict]
		t.Run(fmt.Sprintf("snapshot %d %s", i+2, word), func(t *testing.T) {
			s := s.in(t)
			s.must(s.Process.Store.Events.Record(t.Context(), []snapshot.Event{{
				Org: s.orgID(), Environment: s.environmentID("beta"), Ordinal: int64(i + 2), Snapshot: int64(i + 2),
				Timestamp: evidence.Seconds(s.clock.read()), Fingerprint: evidence.HashAPIKey("web-1"), Type: snapshot.BecameCompliant, Compliant: &verdict,
			}}))
			if got := column(t, lookup(t, s.read("/repos/"+s.org+"/live-artifacts/acme%2Fweb"), "live_artifacts"), "compliance"); got != word+" <nil>" {
				t.Errorf("evaluated as %s, it is %s", word, got)
			}
		})
	}
}
