package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
)

func (s *service) allowlistsPath() string { return "/allowlists/" + s.org }

// allowanceBody returns the body of a permission for the artifact that serverReport reports under a name.
func allowanceBody(name, why string) string {
	return fmt.Sprintf(`{"artifact_name":%q,"artifact_fingerprint":%q,"description":%q}`, name, evidence.HashAPIKey(name), why)
}

func (s *service) allowArtifact(environment, name, why string) {
	s.t.Helper()
	body := allowanceBody(name, why)
	if got := s.want(http.StatusCreated, http.MethodPut, s.allowlistsPath()+"/"+environment, []byte(body)); string(got.body) != body {
		s.t.Errorf("answered %s", got.body)
	}
}

// allowlistLines returns a line for each entry of the allow list.
func (s *service) allowlistLines() string {
	s.t.Helper()
	lines := ""
	for _, one := range s.read(s.allowlistsPath()).([]any) {
		lines += fmt.Sprintln(lookup(s.t, one, "environment_name"), lookup(s.t, one, "artifact_name"), lookup(s.t, one, "description"), lookup(s.t, one, "user_name"))
	}
	return lines
}

func TestArtifactsArePermittedPerEnvironment(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.createEnvironment("beta", evidence.K8S)
	if got := string(s.want(http.StatusOK, http.MethodGet, s.allowlistsPath(), nil).body); got != "[]" {
		t.Errorf("an empty list is %s", got)
	}
	for _, step := range []string{"prod web", "beta web", "prod db"} {
		var environment, name string
		fmt.Sscan(step, &environment, &name)
		s.allowArtifact(environment, name, "first")
	}
	if got, want := s.allowlistLines(), "prod db first administrator\nbeta web first administrator\nprod web first administrator\n"; got != want {
		t.Errorf("listed\n%s", got)
	}
	newest := lookup(t, s.read(s.allowlistsPath()), 0)
	if lookup(t, newest, "fingerprint") != evidence.HashAPIKey("db") || lookup(t, newest, "timestamp").(float64) < 1_700_000_000 {
		t.Errorf("listed %s", asJSON(newest))
	}
}

// TestArtifactsOfAllReportedNamesArePermitted permits what a snapshot shows, under the name that it shows.
func TestArtifactsOfAllReportedNamesArePermitted(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	for what, name := range map[string]string{"long": strings.Repeat("n", 1100), "with control characters": "a\x1b[31m\rb\u0085", "empty": ""} {
		t.Run(what, func(t *testing.T) {
			s := s.in(t)
			sent, err := json.Marshal(name)
			s.must(err)
			s.report(http.StatusCreated, "prod", "server", fmt.Sprintf(`{"artifacts":[{"digests":{%s:%q},"creationTimestamp":1}]}`, sent, evidence.HashAPIKey(name)))
			shown := s.getSnapshot("prod", "-1").runningNamed(name)
			if len(shown) != 1 {
				t.Fatalf("the snapshot has %d artifacts of the name", len(shown))
			}
			s.want(http.StatusCreated, http.MethodPut, s.allowlistsPath()+"/prod",
				fmt.Appendf(nil, `{"artifact_name":%s,"artifact_fingerprint":%q,"description":"d"}`, sent, evidence.HashAPIKey(name)))
			if got := lookup(t, s.read(s.allowlistsPath()), 0, "artifact_name"); got != name {
				t.Errorf("%q is listed as %q", name, got)
			}
		})
	}
}

// TestSnapshotNamesThePermissionThatHasJustEnded makes a snapshot of other artifacts after a permission has ended and
// before a worker has evaluated the environment without it.
func TestSnapshotNamesThePermissionThatHasJustEnded(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.createEnvironment("prod", evidence.Server)
	s.storePolicy("known", "provenance: {required: true}")
	s.attach("prod", "known")
	s.reportServer("prod", "web")
	s.want(http.StatusCreated, http.MethodPut, s.allowlistsPath()+"/prod", fmt.Appendf(nil,
		`{"artifact_name":"web","artifact_fingerprint":%q,"description":"for a minute","expires_at":%d}`, evidence.HashAPIKey("web"), s.clock.read().Add(time.Minute).Unix()))
	s.clock.advance(2 * time.Minute)
	s.reportServer("prod", "web", "db")
	for _, artifact := range lookup(t, s.read("/snapshots/"+s.org+"/prod/3?explain=true"), "artifacts").([]any) {
		if explained, _ := artifact.(map[string]any)["explanation"].([]any); len(explained) == 0 {
			t.Errorf("the verdict %v is not explained: %s", lookup(t, artifact, "compliant"), asJSON(artifact))
		}
	}
}

func TestRepeatedPermissionReplacesNameReasonUserAndTime(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.createEnvironment("prod", evidence.Server)
	s.allowArtifact("prod", "web", "first")
	s.allowArtifact("prod", "db", "first")
	before := lookup(t, s.read(s.allowlistsPath()), 1)
	s.clock.advance(time.Hour)
	body := fmt.Sprintf(`{"artifact_name":"shop","artifact_fingerprint":%q,"description":""}`, evidence.HashAPIKey("web"))
	got := s.do(http.MethodPut, "/api/v2"+s.allowlistsPath()+"/prod", memberKey, []byte(body))
	if got.status != http.StatusCreated || string(got.body) != body {
		t.Errorf("answered %d %s", got.status, got.body)
	}
	if got, want := s.allowlistLines(), "prod shop  member\nprod db first administrator\n"; got != want {
		t.Errorf("listed\n%s", got)
	}
	after := lookup(t, s.read(s.allowlistsPath()), 0)
	if lookup(t, after, "timestamp").(float64) < lookup(t, before, "timestamp").(float64)+3600 {
		t.Errorf("permitted at %v, and again at %v", lookup(t, before, "timestamp"), lookup(t, after, "timestamp"))
	}
}

func TestPermissionChangesTheGeneration(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	generation := func() string {
		current, err := s.Process.Store.Generations.Get(t.Context(), s.orgID(), s.environmentID("prod"))
		s.must(err)
		return current
	}
	before := generation()
	s.allowArtifact("prod", "web", "first")
	first := generation()
	s.allowArtifact("prod", "web", "again")
	if again := generation(); first == before || again == first {
		t.Errorf("the generation was %q, %q, %q", before, first, again)
	}
}

func TestPermissionCreatesASnapshotAtOnce(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.createEnvironment("prod", evidence.Server)
	s.storePolicy("provenance", "provenance: {required: true}")
	s.attach("prod", "provenance")
	s.reportServer("prod", "web", "db")
	s.wantRunning("prod", "1 false", "db false started-non-compliant missing_provenance", "web false started-non-compliant missing_provenance")
	s.allowArtifact("prod", "web", "hotfix")
	s.wantRunning("prod", "2 false", "db false unchanged missing_provenance", "web true became-compliant by allow_list")
	sentence := "'administrator' has allowed the artifact in environment 'prod' on " + s.clock.read().UTC().Format("2006-01-02 at 15:04 UTC") + ", whatever policies say: hotfix"
	if got := textsIn(s.read("/snapshots/" + s.org + "/prod/2?explain=true")); !slices.Contains(got, sentence) {
		t.Errorf("the snapshot says %q", got)
	}
	s.allowArtifact("prod", "web", "again")
	s.allowArtifact("prod", "elsewhere", "does not run")
	s.wantRunning("prod", "2 false", "db false unchanged missing_provenance", "web true became-compliant by allow_list")
	s.allowArtifact("prod", "web", strings.Repeat("x", 200<<10)) // longer than the explanation of an artifact may be
	if artifact := lookup(t, s.read("/snapshots/"+s.org+"/prod/2?explain=true"), "artifacts", 0); lookup(t, artifact, "explanation_left_out") != 1.0 {
		t.Errorf("with a long reason, %v sentences are left out", lookup(t, artifact, "explanation_left_out"))
	}
	s.allowArtifact("prod", "db", "hotfix")
	s.wantRunning("prod", "3 true", "db true became-compliant by allow_list", "web true unchanged")
}

func TestAllowListShowsCurrentNamesOfEnvironments(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.createEnvironment("gone", evidence.Server)
	s.allowArtifact("prod", "web", "w")
	s.allowArtifact("gone", "web", "w")
	s.renameEnvironment("prod", "live")
	s.allowArtifact("prod", "db", "by the former name")
	s.archiveEnvironment("gone")
	if got, want := s.allowlistLines(), "live db by the former name administrator\nlive web w administrator\n"; got != want {
		t.Errorf("listed\n%s", got)
	}
}

func TestLogicalEnvironmentsHaveNoAllowList(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.createEnvironment("all", evidence.LogicalType)
	got := s.want(http.StatusBadRequest, http.MethodPut, s.allowlistsPath()+"/all", []byte(allowanceBody("web", "w")))
	if _, errors := got.problem(t); errors["env_name"] != "Only physical environments have an allow list [input: all]" {
		t.Errorf("a logical environment: %q", errors)
	}
	if got := s.allowlistLines(); got != "" {
		t.Errorf("listed\n%s", got)
	}
}

func TestAllowListsOfOrganizationsAreSeparate(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.createEnvironmentIn(s.public, "prod")
	s.allowArtifact("prod", "web", "w")
	s.want(http.StatusCreated, http.MethodPut, "/allowlists/"+s.public+"/prod", []byte(allowanceBody("db", "d")))
	if got := column(t, s.read("/allowlists/"+s.public), "artifact_name"); got != "db" {
		t.Errorf("the other organization permits %s", got)
	}
	if got := s.allowlistLines(); got != "prod web w administrator\n" {
		t.Errorf("listed\n%s", got)
	}
}

func TestPermissionEndsWhenItExpires(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.createEnvironment("prod", evidence.Server)
	s.storePolicy("scanned", "attestations: [{name: scan, type: generic}]")
	s.attach("prod", "scanned")
	s.reportBuild(s.org, "web-ci", "web", "web", "acme/web", "1")
	s.reportServer("prod", "web")
	end := s.clock.read().Add(7 * 24 * time.Hour)
	permit := func(body string) answer {
		return s.do(http.MethodPut, "/api/v2"+s.allowlistsPath()+"/prod", memberKey, []byte(body))
	}
	body := fmt.Sprintf(`{"artifact_name":"web","artifact_fingerprint":%q,"description":"hotfix","expires_at":%d}`, evidence.HashAPIKey("web"), end.Unix())
	if got := permit(body); got.status != http.StatusCreated || string(got.body) != body {
		t.Fatalf("answered %d %s", got.status, got.body)
	}
	s.wantRunning("prod", "2 true", "web true became-compliant by allow_list")
	if got := lookup(t, s.read(s.allowlistsPath()), 0, "expires_at"); got != float64(end.Unix()) {
		t.Errorf("listed as ending at %v", got)
	}
	until := " until " + end.UTC().Format("2006-01-02 at 15:04 UTC") + ", whatever policies say: hotfix"
	if got := textsIn(s.read("/snapshots/" + s.org + "/prod/2?explain=true")); !slices.ContainsFunc(got, func(text string) bool { return strings.HasSuffix(text, until) }) {
		t.Errorf("the snapshot says %q", got)
	}
	assert := "/asserts/" + s.org + "/fingerprint/" + evidence.HashAPIKey("web") + "?environment_name=prod"
	if lookup(t, s.read(assert), "compliant") != true {
		t.Error("the artifact may not run while it is permitted")
	}
	s.clock.advance(7 * 24 * time.Hour)
	if lookup(t, s.read(assert), "compliant") != false {
		t.Error("the artifact may run when the permission has ended")
	}
	eventually(t, "the environment is evaluated without the permission", func() bool {
		return lookup(t, s.read("/snapshots/"+s.org+"/prod/-1"), "index") == 3.0
	})
	s.wantRunning("prod", "3 false", "web false became-non-compliant by allow_list missing_attestation")
	if _, errors := permit(body).problem(t); !strings.HasPrefix(errors["expires_at"], "expires_at cannot be in the past") {
		t.Errorf("a permission that has ended is answered %q", errors)
	}
	s.allowArtifact("prod", "web", "for good")
	s.wantRunning("prod", "4 true", "web true became-compliant by allow_list")
}
