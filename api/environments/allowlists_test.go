package environments_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/evidence"
)

// allowlistLines returns a line for each entry of the allow list.
func allowlistLines(s *apitest.Service) string {
	s.T.Helper()
	lines := ""
	for _, one := range s.Read(s.AllowlistsPath()).([]any) {
		lines += fmt.Sprintln(apitest.Lookup(s.T, one, "environment_name"), apitest.Lookup(s.T, one, "artifact_name"), apitest.Lookup(s.T, one, "description"), apitest.Lookup(s.T, one, "user_name"))
	}
	return lines
}

func TestArtifactsArePermittedPerEnvironment(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.CreateEnvironment("beta", evidence.K8S)
	apitest.Equal(t, string(s.Want(http.StatusOK, http.MethodGet, s.AllowlistsPath(), nil).Body), "[]", "an empty list")
	for _, step := range []string{"prod web", "beta web", "prod db"} {
		var environment, name string
		fmt.Sscan(step, &environment, &name)
		s.AllowArtifact(environment, name, "first")
	}
	if got, want := allowlistLines(s), "prod db first administrator\nbeta web first administrator\nprod web first administrator\n"; got != want {
		t.Errorf("listed\n%s", got)
	}
	newest := apitest.Lookup(t, s.Read(s.AllowlistsPath()), 0)
	if apitest.Lookup(t, newest, "fingerprint") != evidence.HashAPIKey("db") || apitest.Lookup(t, newest, "timestamp").(float64) < 1_700_000_000 {
		t.Errorf("listed %s", apitest.AsJSON(newest))
	}
}

// TestArtifactsOfAllReportedNamesArePermitted permits what a snapshot shows, under the name that it shows.
func TestArtifactsOfAllReportedNamesArePermitted(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	for what, name := range map[string]string{"long": strings.Repeat("n", 1100), "with control characters": "a\x1b[31m\rb\u0085", "empty": ""} {
		t.Run(what, func(t *testing.T) {
			s := s.In(t)
			sent, err := json.Marshal(name)
			s.Must(err)
			s.Report(http.StatusCreated, "prod", "server", fmt.Sprintf(`{"artifacts":[{"digests":{%s:%q},"creationTimestamp":1}]}`, sent, evidence.HashAPIKey(name)))
			shown := s.GetSnapshot("prod", "-1").RunningNamed(name)
			if len(shown) != 1 {
				t.Fatalf("the snapshot has %d artifacts of the name", len(shown))
			}
			s.Want(http.StatusCreated, http.MethodPut, s.AllowlistsPath()+"/prod",
				fmt.Appendf(nil, `{"artifact_name":%s,"artifact_fingerprint":%q,"description":"d"}`, sent, evidence.HashAPIKey(name)))
			apitest.Equal[any](t, apitest.Lookup(t, s.Read(s.AllowlistsPath()), 0, "artifact_name"), name, "is listed as")
		})
	}
}

// TestSnapshotNamesThePermissionThatHasJustEnded makes a snapshot of other artifacts after a permission has ended and
// before a worker has evaluated the environment without it.
func TestSnapshotNamesThePermissionThatHasJustEnded(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	s.CreateEnvironment("prod", evidence.Server)
	s.StorePolicy("known", "provenance: {required: true}")
	s.Attach("prod", "known")
	s.ReportServer("prod", "web")
	s.Want(http.StatusCreated, http.MethodPut, s.AllowlistsPath()+"/prod", fmt.Appendf(nil,
		`{"artifact_name":"web","artifact_fingerprint":%q,"description":"for a minute","expires_at":%d}`, evidence.HashAPIKey("web"), s.Clock.Read().Add(time.Minute).Unix()))
	s.Clock.Advance(2 * time.Minute)
	s.ReportServer("prod", "web", "db")
	for _, artifact := range apitest.Lookup(t, s.Read("/snapshots/"+s.Org+"/prod/3?explain=true"), "artifacts").([]any) {
		if explained, _ := artifact.(map[string]any)["explanation"].([]any); len(explained) == 0 {
			t.Errorf("the verdict %v is not explained: %s", apitest.Lookup(t, artifact, "compliant"), apitest.AsJSON(artifact))
		}
	}
}

func TestRepeatedPermissionReplacesNameReasonUserAndTime(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	s.CreateEnvironment("prod", evidence.Server)
	s.AllowArtifact("prod", "web", "first")
	s.AllowArtifact("prod", "db", "first")
	before := apitest.Lookup(t, s.Read(s.AllowlistsPath()), 1)
	s.Clock.Advance(time.Hour)
	body := fmt.Sprintf(`{"artifact_name":"shop","artifact_fingerprint":%q,"description":""}`, evidence.HashAPIKey("web"))
	got := s.Do(http.MethodPut, "/api/v2"+s.AllowlistsPath()+"/prod", apitest.MemberKey, []byte(body))
	apitest.Equal(t, got.Status, http.StatusCreated)
	apitest.Equal(t, string(got.Body), body)
	if got, want := allowlistLines(s), "prod shop  member\nprod db first administrator\n"; got != want {
		t.Errorf("listed\n%s", got)
	}
	after := apitest.Lookup(t, s.Read(s.AllowlistsPath()), 0)
	if apitest.Lookup(t, after, "timestamp").(float64) < apitest.Lookup(t, before, "timestamp").(float64)+3600 {
		t.Errorf("permitted at %v, and again at %v", apitest.Lookup(t, before, "timestamp"), apitest.Lookup(t, after, "timestamp"))
	}
}

func TestPermissionChangesTheGeneration(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	generation := func() string {
		current, err := s.Process.Store.Generations.Get(t.Context(), s.OrgID(), s.EnvironmentID("prod"))
		s.Must(err)
		return current
	}
	before := generation()
	s.AllowArtifact("prod", "web", "first")
	first := generation()
	s.AllowArtifact("prod", "web", "again")
	if again := generation(); first == before || again == first {
		t.Errorf("the generation was %q, %q, %q", before, first, again)
	}
}

func TestPermissionCreatesASnapshotAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.ShareOnAnyEngine(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.StorePolicy("provenance", "provenance: {required: true}")
	s.Attach("prod", "provenance")
	s.ReportServer("prod", "web", "db")
	wantRunning(s, "prod", "1 false", "db false started-non-compliant missing_provenance", "web false started-non-compliant missing_provenance")
	s.AllowArtifact("prod", "web", "hotfix")
	wantRunning(s, "prod", "2 false", "db false unchanged missing_provenance", "web true became-compliant by allow_list")
	apitest.WantMember(t, s.GetSnapshot("prod", "2").Artifact(t, "web")["policy_decisions"], "0.status", "NON-COMPLIANT")
	sentence := "'administrator' has allowed the artifact in environment 'prod' on " + s.Clock.Read().UTC().Format("2006-01-02 at 15:04 UTC") + ", whatever policies say: hotfix"
	if got := apitest.TextsIn(s.Read("/snapshots/" + s.Org + "/prod/2?explain=true")); !slices.Contains(got, sentence) {
		t.Errorf("the snapshot says %q", got)
	}
	s.AllowArtifact("prod", "web", "again")
	s.AllowArtifact("prod", "elsewhere", "does not run")
	wantRunning(s, "prod", "2 false", "db false unchanged missing_provenance", "web true became-compliant by allow_list")
	s.AllowArtifact("prod", "web", strings.Repeat("x", 200<<10)) // longer than the explanation of an artifact may be
	if artifact := apitest.Lookup(t, s.Read("/snapshots/"+s.Org+"/prod/2?explain=true"), "artifacts", 0); apitest.Lookup(t, artifact, "explanation_left_out") != 1.0 {
		t.Errorf("with a long reason, %v sentences are left out", apitest.Lookup(t, artifact, "explanation_left_out"))
	}
	s.AllowArtifact("prod", "db", "hotfix")
	wantRunning(s, "prod", "3 true", "db true became-compliant by allow_list", "web true unchanged")
}

func TestAllowListShowsCurrentNamesOfEnvironments(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.CreateEnvironment("gone", evidence.Server)
	s.AllowArtifact("prod", "web", "w")
	s.AllowArtifact("gone", "web", "w")
	s.RenameEnvironment("prod", "live")
	s.AllowArtifact("prod", "db", "by the former name")
	s.ArchiveEnvironment("gone")
	if got, want := allowlistLines(s), "live db by the former name administrator\nlive web w administrator\n"; got != want {
		t.Errorf("listed\n%s", got)
	}
}

func TestLogicalEnvironmentsHaveNoAllowList(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.CreateEnvironment("all", evidence.LogicalType)
	got := s.Want(http.StatusBadRequest, http.MethodPut, s.AllowlistsPath()+"/all", []byte(apitest.AllowanceBody("web", "w")))
	apitest.WantFault(t, got, "env_name", "Only physical environments have an allow list [input: all]")
	apitest.Equal(t, allowlistLines(s), "", "listed")
}

func TestAllowListsOfOrganizationsAreSeparate(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.CreateEnvironmentIn(s.Public, "prod")
	s.AllowArtifact("prod", "web", "w")
	s.Want(http.StatusCreated, http.MethodPut, "/allowlists/"+s.Public+"/prod", []byte(apitest.AllowanceBody("db", "d")))
	apitest.Equal(t, apitest.Column(t, s.Read("/allowlists/"+s.Public), "artifact_name"),
		"db", "the other organization permits")
	apitest.Equal(t, allowlistLines(s), "prod web w administrator\n", "listed")
}

func TestPermissionEndsWhenItExpires(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	s.CreateEnvironment("prod", evidence.Server)
	s.StorePolicy("scanned", "attestations: [{name: scan, type: generic}]")
	s.Attach("prod", "scanned")
	s.ReportBuild(s.Org, "web-ci", "web", "web", "acme/web", "1")
	s.ReportServer("prod", "web")
	end := s.Clock.Read().Add(7 * 24 * time.Hour)
	permit := func(body string) apitest.Answer {
		return s.Do(http.MethodPut, "/api/v2"+s.AllowlistsPath()+"/prod", apitest.MemberKey, []byte(body))
	}
	body := fmt.Sprintf(`{"artifact_name":"web","artifact_fingerprint":%q,"description":"hotfix","expires_at":%d}`, evidence.HashAPIKey("web"), end.Unix())
	if got := permit(body); got.Status != http.StatusCreated || string(got.Body) != body {
		t.Fatalf("answered %d %s", got.Status, got.Body)
	}
	wantRunning(s, "prod", "2 true", "web true became-compliant by allow_list")
	apitest.Equal[any](t, apitest.Lookup(t, s.Read(s.AllowlistsPath()), 0, "expires_at"),
		float64(end.Unix()), "listed as ending")
	until := " until " + end.UTC().Format("2006-01-02 at 15:04 UTC") + ", whatever policies say: hotfix"
	if got := apitest.TextsIn(s.Read("/snapshots/" + s.Org + "/prod/2?explain=true")); !slices.ContainsFunc(got, func(text string) bool { return strings.HasSuffix(text, until) }) {
		t.Errorf("the snapshot says %q", got)
	}
	assert := "/asserts/" + s.Org + "/fingerprint/" + evidence.HashAPIKey("web") + "?environment_name=prod"
	apitest.WantMember(t, s.Read(assert), "compliant", true)
	s.Clock.Advance(7 * 24 * time.Hour)
	apitest.WantMember(t, s.Read(assert), "compliant", false)
	apitest.Eventually(t, "the environment is evaluated without the permission", func() bool {
		return apitest.Lookup(t, s.Read("/snapshots/"+s.Org+"/prod/-1"), "index") == 3.0
	})
	wantRunning(s, "prod", "3 false", "web false became-non-compliant by allow_list missing_attestation")
	if _, errors := permit(body).Problem(t); !strings.HasPrefix(errors["expires_at"], "expires_at cannot be in the past") {
		t.Errorf("a permission that has ended is answered %q", errors)
	}
	s.AllowArtifact("prod", "web", "for good")
	wantRunning(s, "prod", "4 true", "web true became-compliant by allow_list")
}
