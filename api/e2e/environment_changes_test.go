package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/snapshot"
)

func (s *service) environmentsPath() string { return "/environments/" + s.org }

// createLogical creates a logical environment with the given members.
func (s *service) createLogical(name string, members ...string) {
	s.t.Helper()
	s.want(http.StatusCreated, http.MethodPut, s.environmentsPath(),
		fmt.Appendf(nil, `{"name":%q,"type":"logical","description":"","included_environments":%s}`, name, jsonList(members)))
}

func jsonList(texts []string) string {
	quoted := make([]string, 0, len(texts))
	for _, text := range texts {
		quoted = append(quoted, fmt.Sprintf("%q", text))
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

// changeEnvironment sends a change of an environment and checks that it succeeds.
func (s *service) changeEnvironment(method, path, body string) {
	s.t.Helper()
	if got := s.want(http.StatusOK, method, s.environmentsPath()+path, []byte(body)).text(s.t); got != "OK" {
		s.t.Errorf("%s %s: answered %q", method, path, got)
	}
}

func (s *service) renameEnvironment(from, to string) {
	s.t.Helper()
	s.changeEnvironment(http.MethodPut, "/"+from+"/rename", fmt.Sprintf(`{"new_name":%q}`, to))
}

func (s *service) archiveEnvironment(name string) {
	s.t.Helper()
	s.changeEnvironment(http.MethodPut, "/"+name+"/archive", "null")
}

// listEnvironments lists the names of the environments that a query finds.
func (s *service) listEnvironments(query string) string {
	s.t.Helper()
	var bodies []environmentBody
	s.want(http.StatusOK, http.MethodGet, s.environmentsPath()+query, nil).decode(s.t, &bodies)
	return environmentNames(bodies)
}

func TestPatchChangesOnlyWhatIsSent(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("one", evidence.Server)
	s.createEnvironment("two", evidence.K8S)
	s.createEnvironment("three", evidence.S3)
	s.createLogical("all", "two", "one")
	s.changeEnvironment(http.MethodPatch, "/all", `{"description":"d","include_scaling":true}`)
	for _, step := range []struct{ name, body, want string }{
		{"nothing", `{}`, "d true [two one]"},
		{"nulls", `{"description":null,"include_scaling":null,"included_environments":null,"policies":null}`, "d true [two one]"},
		{"no policies", `{"policies":[]}`, "d true [two one]"},
		{"scaling", `{"include_scaling":false}`, "d false [two one]"},
		{"empty description", `{"description":""}`, " false [two one]"},
		{"members and scaling", `{"included_environments":["three","one","two"],"include_scaling":true}`, " true [three one two]"},
		{"members", `{"included_environments":["two","three"]}`, " true [two three]"},
		{"a member twice", `{"included_environments":["two","three","two"]}`, " true [two three two]"},
		{"no members and a description", `{"included_environments":[],"description":" a \n b "}`, " a \n b  true []"},
	} {
		t.Run(step.name, func(t *testing.T) {
			s := s.in(t)
			s.changeEnvironment(http.MethodPatch, "/all", step.body)
			got := s.getEnvironment("all")
			if shown := fmt.Sprint(got.Description, " ", got.IncludeScaling, " ", got.Included); shown != step.want || got.Included == nil {
				t.Errorf("%s: got %q", step.body, shown)
			}
		})
	}
}

func TestPatchWithoutChangeKeepsTheTime(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.createEnvironment("prod", evidence.Server)
	before := s.getEnvironment("prod").LastModifiedAt
	s.clock.advance(time.Hour)
	s.changeEnvironment(http.MethodPatch, "/prod", `{"description":"of a test"}`)
	if got := s.getEnvironment("prod").LastModifiedAt; got != before {
		t.Errorf("moved by %f", got-before)
	}
	s.changeEnvironment(http.MethodPatch, "/prod", `{"description":"another"}`)
	if got := s.getEnvironment("prod").LastModifiedAt; got < before+3600 {
		t.Errorf("moved by %f", got-before)
	}
}

func TestBadPatchesAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Server)
	s.createLogical("all", "prod")
	_, errors := s.want(http.StatusBadRequest, http.MethodPatch, s.environmentsPath()+"/prod", []byte(`{"included_environments":["one"]}`)).problem(t)
	if errors["included_environments"] != "Only logical environments include others [input: server]" {
		t.Errorf("members of a physical one: %q", errors)
	}
	const notPhysical = "Can only add physical environments to logical environments"
	s.wantError(http.StatusBadRequest, notPhysical, http.MethodPatch, s.environmentsPath()+"/all", `{"included_environments":["prod","all"]}`)
	s.wantError(http.StatusNotFound, "Environment named 'none' does not exist for organization '"+s.org+"'",
		http.MethodPatch, s.environmentsPath()+"/all", `{"included_environments":["prod","none"]}`)
	for _, name := range []string{"prod", "all"} {
		t.Run("policy of "+name, func(t *testing.T) {
			s := s.in(t)
			s.wantError(http.StatusNotFound, "Policy 'p1' does not exist in organization '"+s.org+"'",
				http.MethodPatch, s.environmentsPath()+"/"+name, `{"policies":["p1"],"description":"x"}`)
		})
	}
	if got := s.getEnvironment("all"); got.Description != "" || !slices.Equal(got.Included, []string{"prod"}) {
		t.Errorf("a refused change left %+v", got)
	}
}

func TestMembersAreLookedUpTogether(t *testing.T) {
	s, counting := startCounting(t, options{withoutWorker: true})
	var members []string
	for i := range 50 {
		members = append(members, fmt.Sprint("m", i))
		s.createEnvironment(members[i], evidence.Server)
	}
	s.createLogical("all")
	commands := func(members []string) int {
		counting.Reset()
		s.changeEnvironment(http.MethodPatch, "/all", `{"included_environments":`+jsonList(members)+`}`)
		s.getEnvironment("all")
		s.listEnvironments("")
		return counting.Snapshot().Commands()
	}
	// Background work may take a few commands.
	if few, many := commands(members[:1]), commands(members); many > few+10 || few == 0 {
		t.Errorf("%d commands for one member, %d for fifty", few, many)
	}
}

func TestPhysicalEnvironmentJoinsALogicalOne(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("one", evidence.Server)
	s.createEnvironment("two", evidence.K8S)
	s.createEnvironment("all", evidence.LogicalType)
	for _, name := range []string{"two", "one", "two"} {
		s.changeEnvironment(http.MethodPut, "/all/join", fmt.Sprintf(`{"physical_env_name":%q}`, name))
	}
	if got := s.getEnvironment("all").Included; !slices.Equal(got, []string{"two", "one"}) {
		t.Errorf("included %v", got)
	}
	s.createLogical("others")
	const notPhysical = "Can only add physical environments to logical environments"
	s.wantError(http.StatusBadRequest, notPhysical, http.MethodPut, s.environmentsPath()+"/all/join", `{"physical_env_name":"others"}`)
	s.wantError(http.StatusBadRequest, notPhysical, http.MethodPut, s.environmentsPath()+"/all/join", `{"physical_env_name":"all"}`)
	s.wantError(http.StatusBadRequest, notPhysical, http.MethodPut, s.environmentsPath()+"/one/join", `{"physical_env_name":"two"}`)
	s.wantError(http.StatusNotFound, "Environment named 'none' does not exist for organization '"+s.org+"'",
		http.MethodPut, s.environmentsPath()+"/all/join", `{"physical_env_name":"none"}`)
	s.wantError(http.StatusNotFound, "Environment named 'none' does not exist for organization '"+s.org+"'",
		http.MethodPut, s.environmentsPath()+"/none/join", `{"physical_env_name":"one"}`)
	for name, c := range map[string]struct{ body, field string }{
		"no name":        {`{}`, "physical_env_name"},
		"null":           {`{"physical_env_name":null}`, "physical_env_name"},
		"unknown member": {`{"physical_env_name":"one","as":"x"}`, "as"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			if _, errors := s.want(http.StatusBadRequest, http.MethodPut, s.environmentsPath()+"/all/join", []byte(c.body)).problem(t); errors[c.field] == "" {
				t.Errorf("%q", errors)
			}
		})
	}
	if got := s.getEnvironment("all").Included; !slices.Equal(got, []string{"two", "one"}) {
		t.Errorf("included %v", got)
	}
}

func TestLogicalEnvironmentUnitesTheStatesOfItsMembers(t *testing.T) {
	t.Parallel()
	s := share(t)
	for _, name := range []string{"one", "two", "three"} {
		s.createEnvironment(name, evidence.Server)
	}
	s.createLogical("all", "one", "two")
	if got := s.getEnvironment("all"); got.State != nil || got.LastChangedAt != nil || got.LastModifiedAt == 0 {
		t.Errorf("before anything has run: %+v", got)
	}
	for _, name := range []string{"two", "one", "three"} {
		s.reportServer(name, name)
	}
	got, newest := s.getEnvironment("all"), s.getEnvironment("one").LastChangedAt
	if got.LastReportedAt != nil || got.LastChangedAt == nil || *got.LastChangedAt != *newest || got.LastModifiedAt != *newest {
		t.Errorf("got %+v, the newest member changed at %f", got, *newest)
	}
	if got.Policies == nil || len(got.Policies) != 0 {
		t.Errorf("policies are %v", got.Policies)
	}
	for _, c := range []struct{ one, two, want *bool }{
		{nil, nil, nil}, {new(true), nil, nil}, {new(true), new(true), new(true)}, {new(true), new(false), new(false)}, {nil, new(false), new(false)},
	} {
		t.Run(boolText(c.one)+" and "+boolText(c.two), func(t *testing.T) {
			s := s.in(t)
			s.setState("one", c.one)
			s.setState("two", c.two)
			listed := lookup(t, s.read(s.environmentsPath()+"?name=all"), 0, "state")
			if got := s.getEnvironment("all").State; boolText(got) != boolText(c.want) || fmt.Sprint(listed) != boolText(c.want) {
				t.Errorf("%s and %s are united to %s, listed as %v", boolText(c.one), boolText(c.two), boolText(got), listed)
			}
			if got := s.getEnvironment("two").State; boolText(got) != boolText(c.two) {
				t.Errorf("two is %s, want %s", boolText(got), boolText(c.two))
			}
		})
	}
}

// setState stores the compliance state of an environment, as an evaluation of its policies would.
func (s *service) setState(environment string, state *bool) {
	s.t.Helper()
	_, err := s.Process.Store.Heads.Update(s.t.Context(), s.environmentID(environment), func(head *snapshot.Head) error {
		head.State = state
		return nil
	})
	s.must(err)
}

func boolText(state *bool) string {
	if state == nil {
		return "<nil>"
	}
	return fmt.Sprint(*state)
}

func TestFormerNameOfAnEnvironmentWorksUntilItIsReused(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("one", evidence.Server)
	s.reportServer("one", "a")
	s.createLogical("all", "one")
	id := s.environmentID("one")
	s.renameEnvironment("one", "two")
	s.renameEnvironment("one", "two") // repeated, as after a lost answer
	if got := s.getEnvironment("one"); got.Name != "two" {
		t.Errorf("the former name leads to %+v", got)
	}
	s.reportServer("one", "a", "b")
	for _, name := range []string{"one", "two"} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			if got := s.getSnapshot(name, "-1"); got.Index != 2 {
				t.Errorf("%s is at snapshot %d", name, got.Index)
			}
			if list := s.read("/snapshots/" + s.org + "/" + name).([]any); len(list) != 2 {
				t.Errorf("%s has %d snapshots", name, len(list))
			}
		})
	}
	if got := s.listEnvironments(""); got != "all two" {
		t.Errorf("listed %s", got)
	}
	if got := s.getEnvironment("all").Included; !slices.Equal(got, []string{"two"}) {
		t.Errorf("included %v", got)
	}
	s.createEnvironment("one", evidence.K8S)
	if s.environmentID("one") == id || s.environmentID("two") != id {
		t.Error("the former name was not taken")
	}
	if got := s.getEnvironment("one"); got.Type != "K8S" || got.LastReportedAt != nil {
		t.Errorf("the new one is %+v", got)
	}
	if list := s.read("/snapshots/" + s.org + "/one").([]any); len(list) != 0 {
		t.Errorf("the new one has %d snapshots", len(list))
	}
}

func TestBadNewNamesOfEnvironmentsAreRefused(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("one", evidence.Server)
	s.createEnvironment("two", evidence.Server)
	got := s.want(http.StatusBadRequest, http.MethodPut, s.environmentsPath()+"/one/rename", []byte(`{"new_name":"two"}`))
	if message, errors := got.problem(t); message != "Input payload validation failed" || errors["new_name"] != "An environment with this name already exists [input: two]" {
		t.Errorf("%q %q", message, errors)
	}
	if got := s.listEnvironments(""); got != "one two" {
		t.Errorf("listed %s", got)
	}
}

func TestArchivedEnvironmentIsNotFoundByAnyOfItsNames(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("one", evidence.Server)
	s.createLogical("all")
	s.renameEnvironment("one", "two")
	s.reportServer("two", "a")
	s.archiveEnvironment("two")
	for _, name := range []string{"one", "two"} {
		message := "Environment named '" + name + "' has been archived for organization '" + s.org + "'"
		s.wantError(http.StatusNotFound, message, http.MethodPut, s.environmentsPath()+"/"+name+"/archive", "")
		for _, c := range []struct{ method, path, body string }{
			{http.MethodGet, s.environmentsPath() + "/" + name, ""},
			{http.MethodPatch, s.environmentsPath() + "/" + name, `{"description":"x"}`},
			{http.MethodPut, s.environmentsPath() + "/" + name + "/archive", "null"},
			{http.MethodPut, s.environmentsPath() + "/" + name + "/rename", `{"new_name":"three"}`},
			{http.MethodPut, s.environmentsPath() + "/" + name + "/join", `{"physical_env_name":"two"}`},
			{http.MethodPut, s.environmentsPath() + "/all/join", `{"physical_env_name":"` + name + `"}`},
			{http.MethodPatch, s.environmentsPath() + "/all", `{"included_environments":["` + name + `"]}`},
			{http.MethodPut, s.environmentsPath() + "/" + name + "/report/server", string(serverReport("a"))},
			{http.MethodGet, "/snapshots/" + s.org + "/" + name, ""},
			{http.MethodGet, "/snapshots/" + s.org + "/" + name + "/1", ""},
			{http.MethodPut, "/allowlists/" + s.org + "/" + name, allowanceBody("a", "why")},
			{http.MethodPatch, "/tags/" + s.org + "/env/" + name, `{"set_tags":{"a":"b"}}`},
		} {
			t.Run(name+" "+s.caseName(c.method+" "+c.path), func(t *testing.T) {
				s.in(t).wantError(http.StatusNotFound, message, c.method, c.path, c.body)
			})
		}
	}
	if got := s.listEnvironments(""); got != "all" {
		t.Errorf("listed %s", got)
	}
}

func TestUnknownEnvironmentsAreNotFound(t *testing.T) {
	t.Parallel()
	s := share(t)
	for _, organization := range []string{s.org, s.public} {
		if organization == s.public {
			s.createEnvironment("none", evidence.Server) // in s.org, not in s.public
		}
		path := "/environments/" + organization
		for _, c := range []struct{ method, path, body string }{
			{http.MethodGet, path + "/none", ""},
			{http.MethodPatch, path + "/none", `{}`},
			{http.MethodPut, path + "/none/archive", "null"},
			{http.MethodPut, path + "/none/rename", `{"new_name":"x"}`},
			{http.MethodPut, path + "/none/join", `{"physical_env_name":"x"}`},
			{http.MethodPut, path, `{"name":"all","type":"logical","description":"","included_environments":["none"]}`},
			{http.MethodPut, "/allowlists/" + organization + "/none", allowanceBody("a", "why")},
		} {
			t.Run(s.caseName(c.method+" "+c.path), func(t *testing.T) {
				s.in(t).wantError(http.StatusNotFound, "Environment named 'none' does not exist for organization '"+organization+"'", c.method, c.path, c.body)
			})
		}
	}
	s.want(http.StatusCreated, http.MethodPut, "/environments/"+s.public, []byte(`{"name":"all","type":"logical","description":""}`))
	s.wantError(http.StatusNotFound, "Environment named 'none' does not exist for organization '"+s.public+"'",
		http.MethodPut, "/environments/"+s.public+"/all/join", `{"physical_env_name":"none"}`)
	s.wantError(http.StatusNotFound, "Environment named 'none' does not exist for organization '"+s.public+"'",
		http.MethodPatch, "/environments/"+s.public+"/all", `{"included_environments":["none"]}`)
	if got := s.getEnvironment("none"); got.Name != "none" || got.Description != "of a test" {
		t.Errorf("the other organization's is %+v", got)
	}
}

func TestRevivedEnvironmentStartsEmpty(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.want(http.StatusCreated, http.MethodPut, s.environmentsPath(),
		[]byte(`{"name":"prod","type":"server","description":"old","include_scaling":true}`))
	s.want(http.StatusOK, http.MethodPatch, "/tags/"+s.org+"/env/prod", []byte(`{"set_tags":{"a":"b"}}`))
	s.reportServer("prod", "a")
	s.want(http.StatusCreated, http.MethodPut, "/allowlists/"+s.org+"/prod", []byte(allowanceBody("a", "why")))
	s.archiveEnvironment("prod")
	s.want(http.StatusCreated, http.MethodPut, s.environmentsPath(), []byte(`{"name":"prod","type":"K8S","description":""}`))
	got := s.getEnvironment("prod")
	if got.Type != "K8S" || got.Description != "" || got.IncludeScaling || len(got.Tags) != 0 || got.LastReportedAt != nil || got.LastChangedAt != nil {
		t.Errorf("revived %+v", got)
	}
	if list := s.read("/snapshots/" + s.org + "/prod").([]any); len(list) != 0 {
		t.Errorf("it has %d snapshots", len(list))
	}
	if list := s.read("/allowlists/" + s.org).([]any); len(list) != 0 {
		t.Errorf("it permits %s", asJSON(list))
	}
	s.want(http.StatusBadRequest, http.MethodPut, s.environmentsPath()+"/prod/report/server", serverReport("a"))
	s.archiveEnvironment("prod")
	s.createEnvironment("prod", evidence.LogicalType)
	if got := s.getEnvironment("prod"); got.Type != "logical" || got.Included == nil {
		t.Errorf("revived again as %+v", got)
	}
}

func TestLogicalEnvironmentKeepsWorkingWithAnArchivedMember(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("one", evidence.Server)
	s.createEnvironment("two", evidence.Server)
	s.createLogical("all", "two", "one")
	s.reportServer("one", "a")
	s.reportServer("two", "a")
	s.setState("one", new(true))
	s.setState("two", new(false))
	changed := s.getEnvironment("two").LastChangedAt
	s.archiveEnvironment("two")
	assert := func(when, state string, want ...string) {
		t.Helper()
		got := s.getEnvironment("all")
		if !slices.Equal(got.Included, want) {
			t.Errorf("%s: included %v", when, got.Included)
		}
		if listed := column(t, s.read(s.environmentsPath()+"?type=logical"), "included_environments"); listed != fmt.Sprint(want) {
			t.Errorf("%s: listed with %s", when, listed)
		}
		if boolText(got.State) != state || got.LastChangedAt == nil || *got.LastChangedAt != *changed {
			t.Errorf("%s: %s, changed at %v", when, boolText(got.State), got.LastChangedAt)
		}
	}
	assert("archived", "true", "two", "one")
	s.want(http.StatusOK, http.MethodPut, s.environmentsPath(),
		[]byte(`{"name":"all","type":"logical","description":"again","included_environments":["two","one"]}`))
	assert("the same list put again", "true", "two", "one")
	s.changeEnvironment(http.MethodPatch, "/all", `{"included_environments":["one","two"]}`)
	assert("in another order", "true", "one", "two")
	s.createEnvironment("three", evidence.Server)
	s.changeEnvironment(http.MethodPut, "/all/join", `{"physical_env_name":"three"}`)
	assert("joined", "<nil>", "one", "two", "three")
	s.changeEnvironment(http.MethodPatch, "/all", `{"included_environments":["one"]}`)
	s.wantError(http.StatusNotFound, "Environment named 'two' has been archived for organization '"+s.org+"'",
		http.MethodPatch, s.environmentsPath()+"/all", `{"included_environments":["one","two"]}`)
}

func TestArtifactsDoNotRunInArchivedEnvironments(t *testing.T) {
	t.Parallel()
	s := share(t)
	fingerprint := evidence.HashAPIKey("web")
	s.reportArtifact("build", "t", "app", fingerprint, firstCommit)
	for _, name := range []string{"prod", "beta"} {
		s.createEnvironment(name, evidence.Server)
		s.reportServer(name, "web")
	}
	path := "/artifacts/" + s.org + "/build/fingerprint/" + fingerprint
	eventually(t, "the artifact runs in two environments", func() bool {
		return len(lookup(t, s.read(path), "running").([]any)) == 2
	})
	s.renameEnvironment("beta", "gamma")
	if got := column(t, lookup(t, s.read(path), "running"), "environment_name"); got != "gamma prod" {
		t.Errorf("runs in %s", got)
	}
	s.archiveEnvironment("prod")
	got := s.read(path)
	if running := column(t, lookup(t, got, "running"), "environment_name"); running != "gamma" || len(lookup(t, got, "exited").([]any)) != 0 {
		t.Errorf("runs in %s, exited from %s", running, asJSON(lookup(t, got, "exited")))
	}
	if happened := history(t, got); happened != "app reported Started running in prod#1 environment Started running in gamma#1 environment" {
		t.Errorf("history %q", happened)
	}
	artifacts, _ := s.search(fingerprint)
	found := lookup(t, artifacts, 0)
	if running, exited := fmt.Sprint(lookup(t, found, "running_in")), fmt.Sprint(lookup(t, found, "exited_from")); running != "[gamma]" || exited != "[]" {
		t.Errorf("searched: runs in %s, exited from %s", running, exited)
	}
	// A new environment of the same name does not get the lead times of the archived one.
	s.createEnvironment("prod", evidence.Server)
	if times := lookup(t, s.read(path), "build_lead_times").(map[string]any); len(times) != 1 || times["gamma"] == nil {
		t.Errorf("lead times %v", times)
	}
}

// TestRevivedMemberRejoinsItsLogicalEnvironment archives a member and creates it again, as Terraform does: it does not
// change the logical environment's list of members.
func TestRevivedMemberRejoinsItsLogicalEnvironment(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("web", evidence.Server)
	s.createEnvironment("db", evidence.Server)
	s.createLogical("all", "web", "db")
	s.reportServer("web", "old")
	s.want(http.StatusOK, http.MethodPut, s.environmentsPath()+"/web/archive", nil)
	if got := s.getSnapshot("all", "-1"); got.Index != 2 || got.ArtifactComplianceCount["null"] != 0 {
		t.Errorf("without the archived member snapshot %d runs %v", got.Index, got.Artifacts)
	}
	s.createEnvironment("web", evidence.Server)
	if got := s.getSnapshot("all", "-1"); got.Index != 3 {
		t.Errorf("the revived member joins with snapshot %d", got.Index)
	}
	s.reportServer("web", "new")
	s.want(http.StatusOK, http.MethodPut, s.environmentsPath()+"/all/join", []byte(`{"physical_env_name":"web"}`))
	if got := s.getEnvironment("all"); !slices.Equal(got.Included, []string{"web", "db"}) {
		t.Errorf("it includes %v", got.Included)
	}
	got := s.getSnapshot("all", "-1")
	if got.Index != 4 || len(got.Artifacts) != 1 || got.Artifacts[0]["name"] != "/opt/new" {
		t.Errorf("snapshot %d runs %v", got.Index, got.Artifacts)
	}
	s.wantEvents("all", "", "new started-unknown #4", "old started-unknown #1")
	if count := lookup(t, s.read("/deployments/"+s.org+"?env_name=all"), "total_count"); count != 1.0 {
		t.Errorf("%v deployments", count)
	}
}
