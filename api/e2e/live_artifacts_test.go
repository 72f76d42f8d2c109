package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/snapshot"
)

// live gives a word for each artifact of a repository that runs, by the names of the
// environments.
func (s *service) live(path string) string {
	s.t.Helper()
	got := s.read("/repos/" + s.org + "/live-artifacts/" + path)
	names := map[any]any{}
	for _, one := range at(s.t, got, "_embedded", "environments").([]any) {
		names[at(s.t, one, "id")] = at(s.t, one, "name")
	}
	ids := map[any]bool{}
	for _, one := range at(s.t, got, "_embedded", "artifacts").([]any) {
		ids[at(s.t, one, "id")] = true
	}
	words := []string{}
	for _, one := range at(s.t, got, "live_artifacts").([]any) {
		if !ids[at(s.t, one, "artifact_id")] {
			s.t.Errorf("nothing is embedded for %s", shown(one))
		}
		name := strings.TrimPrefix(at(s.t, one, "artifact_name").(string), "/opt/")
		words = append(words, fmt.Sprintf("%s@%s#%v", name, names[at(s.t, one, "environment_id")], at(s.t, one, "snapshot_index")))
	}
	return strings.Join(words, " ")
}

func (s *service) wantLive(path, want string) {
	s.t.Helper()
	if got := s.live(path); got != want {
		s.t.Errorf("%s: got %q, want %q", path, got, want)
	}
}

func TestLiveArtifactsAreWhatOfARepositoryRuns(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.rollOut()
	s.environment("beta", evidence.Server)
	s.built(s.org, "db-ci", "db", "db-1", "acme/db", "2")
	s.deploys("beta", "web-1", "db-1")
	s.deploys("beta", "web-1", "web-3", "intruder")
	s.wantLive("acme%2Fweb", "web-3@beta#2 web-1@beta#2 web-2@prod#4")
	s.wantLive("acme%2Fdb", "")
	got := s.read("/repos/" + s.org + "/live-artifacts/acme/web")
	entry := at(t, got, "live_artifacts", 1)
	began := at(t, s.read("/deployments/"+s.org+"/beta/"+evidence.HashAPIKey("web-1")), "deployed_at")
	if at(t, entry, "fingerprint") != evidence.HashAPIKey("web-1") || at(t, entry, "commit_sha") != commitOf("web-1") ||
		at(t, entry, "started_at") != began || at(t, entry, "compliance") != nil || at(t, entry, "environment_id") != s.environmentID("beta") {
		t.Errorf("began at %v, live %s", began, shown(entry))
	}
	if artifacts, environments := at(t, got, "_embedded", "artifacts").([]any), at(t, got, "_embedded", "environments"); len(artifacts) != 3 || column(t, environments, "name") != "beta prod" {
		t.Errorf("embedded %s", shown(at(t, got, "_embedded")))
	}
	for _, one := range at(t, got, "_embedded", "artifacts").([]any) {
		artifact := s.follow(one, "_links", "self", "href")
		if at(t, artifact, "id") != at(t, one, "id") || at(t, artifact, "git_commit") != at(t, one, "commit_sha") || at(t, artifact, "commit_url") != at(t, one, "commit_url") {
			t.Errorf("embedded %s, which is %s", shown(one), shown(artifact))
		}
	}
	if again := s.follow(got, "_links", "self", "href"); shown(again) != shown(got) {
		t.Errorf("its own link leads to %s", shown(again))
	}
	if snapshot := s.follow(entry, "_links", "snapshot", "href"); at(t, snapshot, "index") != 2.0 {
		t.Errorf("its snapshot is %s", shown(snapshot))
	}
	// The latest snapshot counts, be it of something else.
	s.deploys("beta", "web-1", "web-3")
	s.wantLive("acme%2Fweb", "web-3@beta#3 web-1@beta#3 web-2@prod#4")
}

func TestLiveArtifactIsTheRecordOfItsRepository(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.environment("prod", evidence.Server)
	s.built(s.org, "web-ci", "web", "web-1", "acme/web", "1")
	s.built(s.org, "promotion", "image", "web-1", "acme/ops", "2")
	s.deploys("prod", "web-1")
	for repo, flow := range map[string]string{"acme%2Fweb": "web-ci", "acme%2Fops": "promotion"} {
		s.wantLive(repo, "web-1@prod#1")
		embedded := at(t, s.read("/repos/"+s.org+"/live-artifacts/"+repo), "_embedded", "artifacts", 0)
		if artifact := s.follow(embedded, "_links", "self", "href"); at(t, artifact, "flow_name") != flow || at(t, artifact, "id") != at(t, embedded, "id") {
			t.Errorf("%s: embedded %s, which is %s", repo, shown(embedded), shown(artifact))
		}
	}
}

func TestLiveArtifactsOfAnAmbiguousNameNeedItsProvider(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.environment("prod", evidence.Server)
	s.built(s.org, "web-ci", "web", "hub", "acme/web", "1")
	s.builtFrom(s.org, "web-ci", "web", "lab", `{"name":"acme/web","id":"2","url":"https://gitlab.com/acme/web","provider":"gitlab"}`, "acme/web")
	s.deploys("prod", "hub", "lab")
	for path, want := range map[string]string{
		"acme%2Fweb?provider=gitlab":                    "lab@prod#1",
		"acme/web?provider=github":                      "hub@prod#1",
		"acme/web?provider=gitlab":                      "lab@prod#1",
		"acme/web?id=" + s.innerID(s.org, "1"):          "hub@prod#1",
		"x?provider=gitlab&id=" + s.innerID(s.org, "1"): "hub@prod#1",
	} {
		s.wantLive(path, want)
	}
	for path, name := range map[string]string{"acme/x": "acme/x", "acme/web?provider=bitbucket": "acme/web", "acme/web?id=x": "x"} {
		wantMessage(t, s.want(http.StatusNotFound, http.MethodGet, "/repos/"+s.org+"/live-artifacts/"+path, nil), "Repo '"+name+"' not found")
	}
	if _, errors := s.want(http.StatusBadRequest, http.MethodGet, "/repos/"+s.org+"/live-artifacts/acme/web?provider=x", nil).problem(t); errors["query.provider"] == "" {
		t.Errorf("a provider that is none: %q", errors)
	}
}

func TestNothingIsLiveInArchivedEnvironmentsOrOtherOrganizations(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.rollOut()
	s.environment("beta", evidence.Server)
	s.deploys("beta", "web-1")
	s.archive("prod")
	s.wantLive("acme%2Fweb", "web-1@beta#1")
	if environments := at(t, s.read("/repos/"+s.org+"/live-artifacts/acme/web"), "_embedded", "environments"); column(t, environments, "name") != "beta" {
		t.Errorf("embedded %s", shown(environments))
	}
	s.want(http.StatusNotFound, http.MethodGet, "/repos/"+s.public+"/live-artifacts/acme/web", nil)
	s.want(http.StatusNotFound, http.MethodGet, "/repos/"+s.public+"/live-artifacts/x?id="+s.innerID(s.org, "1"), nil)
	path := "/api/v2/repos/" + s.org + "/live-artifacts/acme/web"
	if got := s.do(http.MethodGet, path, readerKey, nil); got.status != http.StatusOK {
		t.Errorf("as a reader: %d", got.status)
	}
	if got := s.do(http.MethodGet, path, strangerKey, nil); got.status != http.StatusForbidden {
		t.Errorf("as a stranger: %d", got.status)
	}
}

func TestLiveArtifactIsAsCompliantAsItWasJudgedLastInItsEnvironment(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.environment("prod", evidence.Server)
	s.environment("beta", evidence.Server)
	s.built(s.org, "web-ci", "web", "web-1", "acme/web", "1")
	s.deploys("prod", "web-1")
	s.deploys("beta", "web-1")
	organization, err := s.Process.Store.Tenancy.Organization(t.Context(), s.org)
	s.must(err)
	for i, verdict := range []bool{false, true, false} {
		s.must(s.Process.Store.Events.Record(t.Context(), []snapshot.Event{{
			Org: organization.ID, Environment: s.environmentID("beta"), Ordinal: int64(i + 2), Snapshot: int64(i + 2),
			Timestamp: evidence.Seconds(s.clock.read()), Fingerprint: evidence.HashAPIKey("web-1"), Type: snapshot.BecameCompliant, Compliant: &verdict,
		}}))
		word := map[bool]string{true: "COMPLIANT", false: "NON-COMPLIANT"}[verdict]
		if got := column(t, at(t, s.read("/repos/"+s.org+"/live-artifacts/acme%2Fweb"), "live_artifacts"), "compliance"); got != word+" <nil>" {
			t.Errorf("judged %s, it is %s", word, got)
		}
	}
}
