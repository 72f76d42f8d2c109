package deployments_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"attestry/api/apitest"
	"attestry/evidence"
	"attestry/evidence/snapshot"
)

// listLiveArtifacts lists the running artifacts of a repository as artifact@environment#snapshot.
func listLiveArtifacts(s *apitest.Service, path string) string {
	s.T.Helper()
	got := s.Read("/repos/" + s.Org + "/live-artifacts/" + path)
	names := map[any]any{}
	for _, one := range apitest.Lookup(s.T, got, "_embedded", "environments").([]any) {
		names[apitest.Lookup(s.T, one, "id")] = apitest.Lookup(s.T, one, "name")
	}
	ids := map[any]bool{}
	for _, one := range apitest.Lookup(s.T, got, "_embedded", "artifacts").([]any) {
		ids[apitest.Lookup(s.T, one, "id")] = true
	}
	words := []string{}
	for _, one := range apitest.Lookup(s.T, got, "live_artifacts").([]any) {
		if !ids[apitest.Lookup(s.T, one, "artifact_id")] {
			s.T.Errorf("nothing is embedded for %s", apitest.AsJSON(one))
		}
		name := strings.TrimPrefix(apitest.Lookup(s.T, one, "artifact_name").(string), "/opt/")
		words = append(words, fmt.Sprintf("%s@%s#%v", name, names[apitest.Lookup(s.T, one, "environment_id")], apitest.Lookup(s.T, one, "snapshot_index")))
	}
	return strings.Join(words, " ")
}

func wantLiveArtifacts(s *apitest.Service, path, want string) {
	s.T.Helper()
	apitest.Equal(s.T, listLiveArtifacts(s, path), want, path)
}

func TestLiveArtifactsAreTheRunningOnesOfARepository(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	deployAndRollBack(s)
	s.CreateEnvironment("beta", evidence.Server)
	s.ReportBuild(s.Org, "db-ci", "db", "db-1", "acme/db", "2")
	s.ReportServer("beta", "web-1", "db-1")
	s.ReportServer("beta", "web-1", "web-3", "intruder")
	wantLiveArtifacts(s, "acme%2Fweb", "web-3@beta#2 web-1@beta#2 web-2@prod#4")
	wantLiveArtifacts(s, "acme%2Fdb", "")
	got := s.Read("/repos/" + s.Org + "/live-artifacts/acme/web")
	entry := apitest.Lookup(t, got, "live_artifacts", 1)
	began := apitest.Lookup(t, s.Read("/deployments/"+s.Org+"/beta/"+evidence.HashAPIKey("web-1")), "deployed_at")
	if apitest.Lookup(t, entry, "fingerprint") != evidence.HashAPIKey("web-1") || apitest.Lookup(t, entry, "commit_sha") != apitest.CommitOf("web-1") ||
		apitest.Lookup(t, entry, "started_at") != began || apitest.Lookup(t, entry, "compliance") != nil || apitest.Lookup(t, entry, "environment_id") != s.EnvironmentID("beta") {
		t.Errorf("began at %v, live %s", began, apitest.AsJSON(entry))
	}
	if artifacts, environments := apitest.Lookup(t, got, "_embedded", "artifacts").([]any), apitest.Lookup(t, got, "_embedded", "environments"); len(artifacts) != 3 || apitest.Column(t, environments, "name") != "beta prod" {
		t.Errorf("embedded %s", apitest.AsJSON(apitest.Lookup(t, got, "_embedded")))
	}
	for _, one := range apitest.Lookup(t, got, "_embedded", "artifacts").([]any) {
		artifact := s.FollowLink(one, "_links", "self", "href")
		if apitest.Lookup(t, artifact, "id") != apitest.Lookup(t, one, "id") || apitest.Lookup(t, artifact, "git_commit") != apitest.Lookup(t, one, "commit_sha") || apitest.Lookup(t, artifact, "commit_url") != apitest.Lookup(t, one, "commit_url") {
			t.Errorf("embedded %s, which is %s", apitest.AsJSON(one), apitest.AsJSON(artifact))
		}
	}
	if again := s.FollowLink(got, "_links", "self", "href"); !reflect.DeepEqual(again, got) {
		t.Errorf("its own link leads to %s", apitest.AsJSON(again))
	}
	apitest.WantMember(t, s.FollowLink(entry, "_links", "snapshot", "href"), "index", 2.0)
	// The snapshot is the latest one, also if another artifact changed in it.
	s.ReportServer("beta", "web-1", "web-3")
	wantLiveArtifacts(s, "acme%2Fweb", "web-3@beta#3 web-1@beta#3 web-2@prod#4")
}

// A job that starts every minute has ten thousand events within a week.
func TestAnArtifactThatStartsOftenHidesNoOther(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.StorePolicy("known", "provenance: {required: true}")
	s.Attach("prod", "known")
	for _, name := range []string{"job", "web"} {
		s.ReportBuild(s.Org, "ci", name, name, "acme/web", "1")
		s.ReportArtifact("images", "t", name, evidence.HashAPIKey(name), apitest.FirstCommit)
	}
	s.ReportServer("prod", "job", "web")
	var events []snapshot.Event
	for ordinal := range int64(10_000) {
		events = append(events, snapshot.Event{
			Org: s.OrgID(), Environment: "elsewhere-of-" + s.Org, Ordinal: ordinal + 1, Snapshot: ordinal + 1, Fingerprint: evidence.HashAPIKey("job"),
			Timestamp: evidence.Seconds(s.Clock.Read()) + float64(ordinal+1), Type: []snapshot.Annotation{snapshot.StartedUnknown, snapshot.Exited}[ordinal%2],
		})
	}
	s.Must(s.Process.Store.Events.Record(t.Context(), events))
	shown := map[string]any{}
	for _, live := range apitest.Lookup(t, s.Read("/repos/"+s.Org+"/live-artifacts/acme/web"), "live_artifacts").([]any) {
		shown[apitest.Lookup(t, live, "artifact_name").(string)] = apitest.Lookup(t, live, "compliance")
	}
	if shown["/opt/web"] != "COMPLIANT" {
		t.Errorf("the live artifacts are %v", shown)
	}
	found, _ := s.Search(apitest.FirstCommit)
	running := map[string]string{}
	for _, artifact := range found.([]any) {
		running[apitest.Lookup(t, artifact, "template_reference_name").(string)] = fmt.Sprint(apitest.Lookup(t, artifact, "running_in"))
	}
	apitest.Equal(t, running["web"], "[prod]", running)
}

func TestArtifactOfTwoRepositoriesHasTheProvenanceOfEach(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.ReportBuild(s.Org, "web-ci", "web", "web-1", "acme/web", "1")
	s.ReportBuild(s.Org, "promotion", "image", "web-1", "acme/ops", "2")
	s.ReportServer("prod", "web-1")
	apitest.Each(s, map[string]struct{ name, id, flow string }{
		"web": {"acme%2Fweb", "1", "web-ci"}, "ops": {"acme%2Fops", "2", "promotion"},
	}, func(s *apitest.Service, _ string, repo struct{ name, id, flow string }) {
		wantLiveArtifacts(s, repo.name, "web-1@prod#1")
		embedded := apitest.Lookup(s.T, s.Read("/repos/"+s.Org+"/live-artifacts/"+repo.name), "_embedded", "artifacts", 0)
		apitest.WantMembers(s.T, s.FollowLink(embedded, "_links", "self", "href"), map[string]any{
			"flow_name": repo.flow, "id": apitest.Lookup(s.T, embedded, "id"),
		})
		list := s.Read("/repos/" + s.Org + "/" + repoID(s, s.Org, repo.id) + "/deployments")
		apitest.Equal(s.T, len(apitest.Lookup(s.T, list, "deployments").([]any)), 1, "deployments")
		apitest.WantMembers(s.T, apitest.Lookup(s.T, list, "deployments", 0, "artifact"), map[string]any{
			"flow_name": repo.flow, "repo_info.repo_id": repo.id,
		})
	})
	// The list of the organization has the deployment once, with the flow that built the artifact.
	all := apitest.Lookup(t, s.Read("/deployments/"+s.Org), "deployments")
	apitest.Equal(t, len(all.([]any)), 1, "deployments")
	apitest.WantMember(t, all, "0.artifact.flow_name", "web-ci")
}

func TestLiveArtifactsOfAnAmbiguousNameAreThoseOfTheNewestRepository(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.ReportBuild(s.Org, "web-ci", "web", "hub", "acme/web", "1")
	s.ReportBuildFrom(s.Org, "web-ci", "web", "lab", `{"name":"acme/web","id":"2","url":"https://gitlab.com/acme/web","provider":"gitlab"}`, "acme/web")
	s.ReportServer("prod", "hub", "lab")
	id := repoID(s, s.Org, "1")
	for name, c := range map[string]struct{ path, want string }{
		"name alone":                  {"acme/web", "lab@prod#1"},
		"escaped name":                {"acme%2Fweb?provider=gitlab", "lab@prod#1"},
		"one provider":                {"acme/web?provider=github", "hub@prod#1"},
		"the other provider":          {"acme/web?provider=gitlab", "lab@prod#1"},
		"id":                          {"acme/web?id=" + id, "hub@prod#1"},
		"id before name and provider": {"x?provider=gitlab&id=" + id, "hub@prod#1"},
	} {
		t.Run(name, func(t *testing.T) { wantLiveArtifacts(s.In(t), c.path, c.want) })
	}
	for path, name := range map[string]string{"acme/x": "acme/x", "acme/web?provider=bitbucket": "acme/web", "acme/web?id=x": "x"} {
		t.Run(s.CaseName(path), func(t *testing.T) {
			s := s.In(t)
			apitest.WantMessage(t, s.Want(http.StatusNotFound, http.MethodGet, "/repos/"+s.Org+"/live-artifacts/"+path, nil), "Repo '"+name+"' not found")
		})
	}
	if _, errors := s.Want(http.StatusBadRequest, http.MethodGet, "/repos/"+s.Org+"/live-artifacts/acme/web?provider=x", nil).Problem(t); errors["query.provider"] == "" {
		t.Errorf("a provider that is none: %q", errors)
	}
}

func TestNothingIsLiveInArchivedEnvironmentsOrOtherOrganizations(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	deployAndRollBack(s)
	s.CreateEnvironment("beta", evidence.Server)
	s.ReportServer("beta", "web-1")
	s.ArchiveEnvironment("prod")
	wantLiveArtifacts(s, "acme%2Fweb", "web-1@beta#1")
	if environments := apitest.Lookup(t, s.Read("/repos/"+s.Org+"/live-artifacts/acme/web"), "_embedded", "environments"); apitest.Column(t, environments, "name") != "beta" {
		t.Errorf("embedded %s", apitest.AsJSON(environments))
	}
	s.Want(http.StatusNotFound, http.MethodGet, "/repos/"+s.Public+"/live-artifacts/acme/web", nil)
	s.Want(http.StatusNotFound, http.MethodGet, "/repos/"+s.Public+"/live-artifacts/x?id="+repoID(s, s.Org, "1"), nil)
	path := "/api/v2/repos/" + s.Org + "/live-artifacts/acme/web"
	apitest.Equal(t, s.Do(http.MethodGet, path, apitest.ReaderKey, nil).Status, http.StatusOK, "as a reader")
	apitest.Equal(t, s.Do(http.MethodGet, path, apitest.StrangerKey, nil).Status, http.StatusForbidden, "as a stranger")
}

func TestLiveArtifactShowsItsLatestVerdictInItsEnvironment(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.CreateEnvironment("beta", evidence.Server)
	s.ReportBuild(s.Org, "web-ci", "web", "web-1", "acme/web", "1")
	s.ReportServer("prod", "web-1")
	s.ReportServer("beta", "web-1")
	for i, verdict := range []bool{false, true, false} {
		word := map[bool]string{true: "COMPLIANT", false: "NON-COMPLIANT"}[verdict]
		t.Run(fmt.Sprintf("snapshot %d %s", i+2, word), func(t *testing.T) {
			s := s.In(t)
			s.Must(s.Process.Store.Events.Record(t.Context(), []snapshot.Event{{
				Org: s.OrgID(), Environment: s.EnvironmentID("beta"), Ordinal: int64(i + 2), Snapshot: int64(i + 2),
				Timestamp: evidence.Seconds(s.Clock.Read()), Fingerprint: evidence.HashAPIKey("web-1"), Type: snapshot.BecameCompliant, Compliant: &verdict,
			}}))
			if got := apitest.Column(t, apitest.Lookup(t, s.Read("/repos/"+s.Org+"/live-artifacts/acme%2Fweb"), "live_artifacts"), "compliance"); got != word+" <nil>" {
				t.Errorf("evaluated as %s, it is %s", word, got)
			}
		})
	}
}
