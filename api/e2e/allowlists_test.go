package e2e_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"attestry/evidence"
)

func (s *service) allowlistsPath() string { return "/allowlists/" + s.org }

// allowanceOf is the body that permits what serverReport calls name.
func allowanceOf(name, why string) string {
	return fmt.Sprintf(`{"artifact_name":%q,"artifact_fingerprint":%q,"description":%q}`, name, evidence.HashAPIKey(name), why)
}

func (s *service) allow(environment, name, why string) {
	s.t.Helper()
	body := allowanceOf(name, why)
	if got := s.want(http.StatusCreated, http.MethodPut, s.allowlistsPath()+"/"+environment, []byte(body)); string(got.body) != body {
		s.t.Errorf("answered %s", got.body)
	}
}

// allowlist gives a line for each entry.
func (s *service) allowlist() string {
	s.t.Helper()
	lines := ""
	for _, one := range s.read(s.allowlistsPath()).([]any) {
		lines += fmt.Sprintln(at(s.t, one, "environment_name"), at(s.t, one, "artifact_name"), at(s.t, one, "description"), at(s.t, one, "user_name"))
	}
	return lines
}

func TestArtifactsArePermittedByEnvironment(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.environment("prod", evidence.Server)
	s.environment("beta", evidence.K8S)
	if got := string(s.want(http.StatusOK, http.MethodGet, s.allowlistsPath(), nil).body); got != "[]" {
		t.Errorf("an empty list is %s", got)
	}
	for _, step := range []string{"prod web", "beta web", "prod db"} {
		var environment, name string
		fmt.Sscan(step, &environment, &name)
		s.allow(environment, name, "first")
	}
	if got, want := s.allowlist(), "prod db first administrator\nbeta web first administrator\nprod web first administrator\n"; got != want {
		t.Errorf("listed\n%s", got)
	}
	newest := at(t, s.read(s.allowlistsPath()), 0)
	if at(t, newest, "fingerprint") != evidence.HashAPIKey("db") || at(t, newest, "timestamp").(float64) < 1_700_000_000 {
		t.Errorf("listed %s", shown(newest))
	}
}

func TestRepeatedPermissionTakesNameReasonWhoAndWhen(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.environment("prod", evidence.Server)
	s.allow("prod", "web", "first")
	s.allow("prod", "db", "first")
	before := at(t, s.read(s.allowlistsPath()), 1)
	s.clock.turn(time.Hour)
	body := fmt.Sprintf(`{"artifact_name":"shop","artifact_fingerprint":%q,"description":""}`, evidence.HashAPIKey("web"))
	got := s.do(http.MethodPut, "/api/v2"+s.allowlistsPath()+"/prod", memberKey, []byte(body))
	if got.status != http.StatusCreated || string(got.body) != body {
		t.Errorf("answered %d %s", got.status, got.body)
	}
	if got, want := s.allowlist(), "prod shop  member\nprod db first administrator\n"; got != want {
		t.Errorf("listed\n%s", got)
	}
	after := at(t, s.read(s.allowlistsPath()), 0)
	if at(t, after, "timestamp").(float64) < at(t, before, "timestamp").(float64)+3600 {
		t.Errorf("permitted at %v, and again at %v", at(t, before, "timestamp"), at(t, after, "timestamp"))
	}
}

func TestPermissionHasWhatRunsJudgedAnew(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.environment("prod", evidence.Server)
	found, err := s.Process.Store.Tenancy.Organization(t.Context(), s.org)
	s.must(err)
	token := func() string {
		moved, err := s.Process.Store.Generations.Get(t.Context(), found.ID)
		s.must(err)
		return moved
	}
	before := token()
	s.allow("prod", "web", "first")
	first := token()
	s.allow("prod", "web", "again")
	if again := token(); first == before || again == first {
		t.Errorf("the generation was %q, %q, %q", before, first, again)
	}
}

func TestAllowListFollowsTheNamesOfItsEnvironments(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.environment("prod", evidence.Server)
	s.environment("gone", evidence.Server)
	s.allow("prod", "web", "w")
	s.allow("gone", "web", "w")
	s.rename("prod", "live")
	s.allow("prod", "db", "by the former name")
	s.archive("gone")
	if got, want := s.allowlist(), "live db by the former name administrator\nlive web w administrator\n"; got != want {
		t.Errorf("listed\n%s", got)
	}
}

func TestBadPermissionsAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.environment("prod", evidence.Server)
	s.environment("all", evidence.LogicalType)
	fingerprint := evidence.HashAPIKey("web")
	for body, want := range map[string]struct{ field, text string }{
		`{"artifact_name":"a","artifact_fingerprint":"abc","description":"d"}`:                          {"artifact_fingerprint", "String should match pattern '^[a-f0-9]{64}$' [input: abc]"},
		`{"artifact_fingerprint":"` + fingerprint + `","description":"d"}`:                              {"artifact_name", "Field required [input: None]"},
		`{"artifact_name":"a","description":"d"}`:                                                       {"artifact_fingerprint", "Field required [input: None]"},
		`{"artifact_name":"a","artifact_fingerprint":"` + fingerprint + `"}`:                            {"description", "Field required [input: None]"},
		`{"artifact_name":"a","artifact_fingerprint":"` + fingerprint + `","description":"d","by":"x"}`: {"by", "Extra inputs are not permitted [input: x]"},
	} {
		got := s.want(http.StatusBadRequest, http.MethodPut, s.allowlistsPath()+"/prod", []byte(body))
		if message, errors := got.problem(t); message != "Input payload validation failed" || errors[want.field] != want.text {
			t.Errorf("%s: %q %q", body, message, errors)
		}
	}
	got := s.want(http.StatusBadRequest, http.MethodPut, s.allowlistsPath()+"/all", []byte(allowanceOf("web", "w")))
	if _, errors := got.problem(t); errors["env_name"] != "Only physical environments have an allow list [input: all]" {
		t.Errorf("a logical environment: %q", errors)
	}
	if got := s.allowlist(); got != "" {
		t.Errorf("listed\n%s", got)
	}
}

func TestAllowListsOfOrganizationsKeepApart(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.environment("prod", evidence.Server)
	s.environmentIn(s.public, "prod")
	s.allow("prod", "web", "w")
	s.want(http.StatusCreated, http.MethodPut, "/allowlists/"+s.public+"/prod", []byte(allowanceOf("db", "d")))
	if got := column(t, s.read("/allowlists/"+s.public), "artifact_name"); got != "db" {
		t.Errorf("the other organization permits %s", got)
	}
	if got := s.allowlist(); got != "prod web w administrator\n" {
		t.Errorf("listed\n%s", got)
	}
	if got := s.do(http.MethodGet, "/api/v2"+s.allowlistsPath(), strangerKey, nil); got.status != http.StatusForbidden {
		t.Errorf("a stranger: status %d", got.status)
	}
}
