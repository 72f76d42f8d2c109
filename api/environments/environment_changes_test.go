package environments_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/evidence"
)

// listEnvironments lists the names of the environments that a query finds.
func listEnvironments(s *apitest.Service, query string) string {
	s.T.Helper()
	var bodies []apitest.EnvironmentBody
	s.Want(http.StatusOK, http.MethodGet, s.EnvironmentsPath()+query, nil).Decode(s.T, &bodies)
	return environmentNames(bodies)
}

func TestPatchChangesOnlyWhatIsSent(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("one", evidence.Server)
	s.CreateEnvironment("two", evidence.K8S)
	s.CreateEnvironment("three", evidence.S3)
	s.CreateLogical("all", "two", "one")
	s.ChangeEnvironment(http.MethodPatch, "/all", `{"description":"d","include_scaling":true}`)
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
			s := s.In(t)
			s.ChangeEnvironment(http.MethodPatch, "/all", step.body)
			got := s.GetEnvironment("all")
			if shown := fmt.Sprint(got.Description, " ", got.IncludeScaling, " ", got.Included); shown != step.want || got.Included == nil {
				t.Errorf("%s: got %q", step.body, shown)
			}
		})
	}
}

func TestPatchWithoutChangeKeepsTheTime(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	s.CreateEnvironment("prod", evidence.Server)
	before := s.GetEnvironment("prod").LastModifiedAt
	s.Clock.Advance(time.Hour)
	s.ChangeEnvironment(http.MethodPatch, "/prod", `{"description":"of a test"}`)
	if got := s.GetEnvironment("prod").LastModifiedAt; got != before {
		t.Errorf("moved by %f", got-before)
	}
	s.ChangeEnvironment(http.MethodPatch, "/prod", `{"description":"another"}`)
	if got := s.GetEnvironment("prod").LastModifiedAt; got < before+3600 {
		t.Errorf("moved by %f", got-before)
	}
}

func TestBadPatchesAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Server)
	s.CreateLogical("all", "prod")
	_, errors := s.Want(http.StatusBadRequest, http.MethodPatch, s.EnvironmentsPath()+"/prod", []byte(`{"included_environments":["one"]}`)).Problem(t)
	apitest.Equal(t, errors["included_environments"], "Only logical environments include others [input: server]", errors)
	const notPhysical = "Can only add physical environments to logical environments"
	s.WantError(http.StatusBadRequest, notPhysical, http.MethodPatch, s.EnvironmentsPath()+"/all", `{"included_environments":["prod","all"]}`)
	s.WantError(http.StatusNotFound, "Environment named 'none' does not exist for organization '"+s.Org+"'",
		http.MethodPatch, s.EnvironmentsPath()+"/all", `{"included_environments":["prod","none"]}`)
	for _, name := range []string{"prod", "all"} {
		t.Run("policy of "+name, func(t *testing.T) {
			s := s.In(t)
			s.WantError(http.StatusNotFound, "Policy 'p1' does not exist in organization '"+s.Org+"'",
				http.MethodPatch, s.EnvironmentsPath()+"/"+name, `{"policies":["p1"],"description":"x"}`)
		})
	}
	if got := s.GetEnvironment("all"); got.Description != "" || !slices.Equal(got.Included, []string{"prod"}) {
		t.Errorf("a refused change left %+v", got)
	}
}

func TestMembersAreLookedUpTogether(t *testing.T) {
	s, counting := apitest.StartCounting(t, apitest.Options{WithoutWorker: true})
	var members []string
	for i := range 50 {
		members = append(members, fmt.Sprint("m", i))
		s.CreateEnvironment(members[i], evidence.Server)
	}
	s.CreateLogical("all")
	commands := func(members []string) int {
		counting.Reset()
		s.ChangeEnvironment(http.MethodPatch, "/all", `{"included_environments":`+apitest.JSONList(members)+`}`)
		s.GetEnvironment("all")
		listEnvironments(s, "")
		return counting.Snapshot().Commands()
	}
	// Background work may take a few commands.
	if few, many := commands(members[:1]), commands(members); many > few+10 || few == 0 {
		t.Errorf("%d commands for one member, %d for fifty", few, many)
	}
}

func TestPhysicalEnvironmentJoinsALogicalOne(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("one", evidence.Server)
	s.CreateEnvironment("two", evidence.K8S)
	s.CreateEnvironment("all", evidence.LogicalType)
	for _, name := range []string{"two", "one", "two"} {
		s.ChangeEnvironment(http.MethodPut, "/all/join", fmt.Sprintf(`{"physical_env_name":%q}`, name))
	}
	apitest.EqualList(t, s.GetEnvironment("all").Included, []string{"two", "one"})
	s.CreateLogical("others")
	const notPhysical = "Can only add physical environments to logical environments"
	s.WantError(http.StatusBadRequest, notPhysical, http.MethodPut, s.EnvironmentsPath()+"/all/join", `{"physical_env_name":"others"}`)
	s.WantError(http.StatusBadRequest, notPhysical, http.MethodPut, s.EnvironmentsPath()+"/all/join", `{"physical_env_name":"all"}`)
	s.WantError(http.StatusBadRequest, notPhysical, http.MethodPut, s.EnvironmentsPath()+"/one/join", `{"physical_env_name":"two"}`)
	s.WantError(http.StatusNotFound, "Environment named 'none' does not exist for organization '"+s.Org+"'",
		http.MethodPut, s.EnvironmentsPath()+"/all/join", `{"physical_env_name":"none"}`)
	s.WantError(http.StatusNotFound, "Environment named 'none' does not exist for organization '"+s.Org+"'",
		http.MethodPut, s.EnvironmentsPath()+"/none/join", `{"physical_env_name":"one"}`)
	apitest.Each(s, map[string]struct{ body, field string }{
		"no name":        {`{}`, "physical_env_name"},
		"null":           {`{"physical_env_name":null}`, "physical_env_name"},
		"unknown member": {`{"physical_env_name":"one","as":"x"}`, "as"},
	}, func(s *apitest.Service, _ string, c struct{ body, field string }) {
		got := s.Want(http.StatusBadRequest, http.MethodPut, s.EnvironmentsPath()+"/all/join", []byte(c.body))
		apitest.WantFault(s.T, got, c.field)
	})
	apitest.EqualList(t, s.GetEnvironment("all").Included, []string{"two", "one"})
}

func TestLogicalEnvironmentUnitesTheStatesOfItsMembers(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	for _, name := range []string{"one", "two", "three"} {
		s.CreateEnvironment(name, evidence.Server)
	}
	s.CreateLogical("all", "one", "two")
	if got := s.GetEnvironment("all"); got.State != nil || got.LastChangedAt != nil || got.LastModifiedAt == 0 {
		t.Errorf("before anything has run: %+v", got)
	}
	for _, name := range []string{"two", "one", "three"} {
		s.ReportServer(name, name)
	}
	got, newest := s.GetEnvironment("all"), s.GetEnvironment("one").LastChangedAt
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
			s := s.In(t)
			s.SetState("one", c.one)
			s.SetState("two", c.two)
			listed := apitest.Lookup(t, s.Read(s.EnvironmentsPath()+"?name=all"), 0, "state")
			if got := s.GetEnvironment("all").State; boolText(got) != boolText(c.want) || fmt.Sprint(listed) != boolText(c.want) {
				t.Errorf("%s and %s are united to %s, listed as %v", boolText(c.one), boolText(c.two), boolText(got), listed)
			}
			apitest.Equal(t, boolText(s.GetEnvironment("two").State), boolText(c.two), "two")
		})
	}
}

func boolText(state *bool) string {
	if state == nil {
		return "<nil>"
	}
	return fmt.Sprint(*state)
}

func TestFormerNameOfAnEnvironmentWorksUntilItIsReused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("one", evidence.Server)
	s.ReportServer("one", "a")
	s.CreateLogical("all", "one")
	id := s.EnvironmentID("one")
	s.RenameEnvironment("one", "two")
	s.RenameEnvironment("one", "two") // repeated, as after a lost answer
	apitest.Equal(t, s.GetEnvironment("one").Name, "two", "the former name leads to")
	s.ReportServer("one", "a", "b")
	apitest.EachOf(s, []string{"one", "two"}, func(s *apitest.Service, name string) {
		apitest.Equal(s.T, s.GetSnapshot(name, "-1").Index, 2, name)
		if list := s.Read("/snapshots/" + s.Org + "/" + name).([]any); len(list) != 2 {
			s.T.Errorf("%s has %d snapshots", name, len(list))
		}
	})
	apitest.Equal(t, listEnvironments(s, ""), "all two", "listed")
	apitest.EqualList(t, s.GetEnvironment("all").Included, []string{"two"})
	s.CreateEnvironment("one", evidence.K8S)
	if s.EnvironmentID("one") == id || s.EnvironmentID("two") != id {
		t.Error("the former name was not taken")
	}
	if got := s.GetEnvironment("one"); got.Type != "K8S" || got.LastReportedAt != nil {
		t.Errorf("the new one is %+v", got)
	}
	if list := s.Read("/snapshots/" + s.Org + "/one").([]any); len(list) != 0 {
		t.Errorf("the new one has %d snapshots", len(list))
	}
}

func TestBadNewNamesOfEnvironmentsAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("one", evidence.Server)
	s.CreateEnvironment("two", evidence.Server)
	got := s.Want(http.StatusBadRequest, http.MethodPut, s.EnvironmentsPath()+"/one/rename", []byte(`{"new_name":"two"}`))
	apitest.WantFault(t, got, "new_name", "An environment with this name already exists [input: two]")
	apitest.Equal(t, listEnvironments(s, ""), "one two", "listed")
}

func TestArchivedEnvironmentIsNotFoundByAnyOfItsNames(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("one", evidence.Server)
	s.CreateLogical("all")
	s.RenameEnvironment("one", "two")
	s.ReportServer("two", "a")
	s.ArchiveEnvironment("two")
	for _, name := range []string{"one", "two"} {
		message := "Environment named '" + name + "' has been archived for organization '" + s.Org + "'"
		s.WantError(http.StatusNotFound, message, http.MethodPut, s.EnvironmentsPath()+"/"+name+"/archive", "")
		for _, c := range []struct{ method, path, body string }{
			{http.MethodGet, s.EnvironmentsPath() + "/" + name, ""},
			{http.MethodPatch, s.EnvironmentsPath() + "/" + name, `{"description":"x"}`},
			{http.MethodPut, s.EnvironmentsPath() + "/" + name + "/archive", "null"},
			{http.MethodPut, s.EnvironmentsPath() + "/" + name + "/rename", `{"new_name":"three"}`},
			{http.MethodPut, s.EnvironmentsPath() + "/" + name + "/join", `{"physical_env_name":"two"}`},
			{http.MethodPut, s.EnvironmentsPath() + "/all/join", `{"physical_env_name":"` + name + `"}`},
			{http.MethodPatch, s.EnvironmentsPath() + "/all", `{"included_environments":["` + name + `"]}`},
			{http.MethodPut, s.EnvironmentsPath() + "/" + name + "/report/server", string(apitest.ServerReport("a"))},
			{http.MethodGet, "/snapshots/" + s.Org + "/" + name, ""},
			{http.MethodGet, "/snapshots/" + s.Org + "/" + name + "/1", ""},
			{http.MethodPut, "/allowlists/" + s.Org + "/" + name, apitest.AllowanceBody("a", "why")},
			{http.MethodPatch, "/tags/" + s.Org + "/env/" + name, `{"set_tags":{"a":"b"}}`},
		} {
			t.Run(name+" "+s.CaseName(c.method+" "+c.path), func(t *testing.T) {
				s.In(t).WantError(http.StatusNotFound, message, c.method, c.path, c.body)
			})
		}
	}
	apitest.Equal(t, listEnvironments(s, ""), "all", "listed")
}

func TestUnknownEnvironmentsAreNotFound(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	for _, organization := range []string{s.Org, s.Public} {
		if organization == s.Public {
			s.CreateEnvironment("none", evidence.Server) // in s.org, not in s.public
			s.ReportServer("none", "a")
		}
		path := "/environments/" + organization
		for _, c := range []struct{ method, path, body string }{
			{http.MethodGet, path + "/none", ""},
			{http.MethodPatch, path + "/none", `{}`},
			{http.MethodPut, path + "/none/archive", "null"},
			{http.MethodPut, path + "/none/rename", `{"new_name":"x"}`},
			{http.MethodPut, path + "/none/join", `{"physical_env_name":"x"}`},
			{http.MethodPut, path, `{"name":"all","type":"logical","description":"","included_environments":["none"]}`},
			{http.MethodPut, "/allowlists/" + organization + "/none", apitest.AllowanceBody("a", "why")},
			{http.MethodGet, "/snapshots/" + organization + "/none", ""},
			{http.MethodGet, "/snapshots/" + organization + "/none/1", ""},
			{http.MethodGet, "/env-diff/" + organization + "?snappish1=none&snappish2=none%231", ""},
			{http.MethodPut, path + "/none/report/server", string(apitest.ServerReport("b"))},
		} {
			t.Run(s.CaseName(c.method+" "+c.path), func(t *testing.T) {
				s.In(t).WantError(http.StatusNotFound, "Environment named 'none' does not exist for organization '"+organization+"'", c.method, c.path, c.body)
			})
		}
	}
	s.Want(http.StatusCreated, http.MethodPut, "/environments/"+s.Public, []byte(`{"name":"all","type":"logical","description":""}`))
	s.WantError(http.StatusNotFound, "Environment named 'none' does not exist for organization '"+s.Public+"'",
		http.MethodPut, "/environments/"+s.Public+"/all/join", `{"physical_env_name":"none"}`)
	s.WantError(http.StatusNotFound, "Environment named 'none' does not exist for organization '"+s.Public+"'",
		http.MethodPatch, "/environments/"+s.Public+"/all", `{"included_environments":["none"]}`)
	s.CreateEnvironmentIn(s.Public, "none")
	apitest.Equal(t, len(s.Read("/snapshots/"+s.Public+"/none").([]any)), 0, "snapshots of another organization's")
	if got := s.GetEnvironment("none"); got.Name != "none" || got.Description != "of a test" {
		t.Errorf("the other organization's is %+v", got)
	}
}

func TestRevivedEnvironmentStartsEmpty(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.Want(http.StatusCreated, http.MethodPut, s.EnvironmentsPath(),
		[]byte(`{"name":"prod","type":"server","description":"old","include_scaling":true}`))
	s.Want(http.StatusOK, http.MethodPatch, "/tags/"+s.Org+"/env/prod", []byte(`{"set_tags":{"a":"b"}}`))
	s.ReportServer("prod", "a")
	s.Want(http.StatusCreated, http.MethodPut, "/allowlists/"+s.Org+"/prod", []byte(apitest.AllowanceBody("a", "why")))
	s.ArchiveEnvironment("prod")
	s.Want(http.StatusCreated, http.MethodPut, s.EnvironmentsPath(), []byte(`{"name":"prod","type":"K8S","description":""}`))
	got := s.GetEnvironment("prod")
	if got.Type != "K8S" || got.Description != "" || got.IncludeScaling || len(got.Tags) != 0 || got.LastReportedAt != nil || got.LastChangedAt != nil {
		t.Errorf("revived %+v", got)
	}
	if list := s.Read("/snapshots/" + s.Org + "/prod").([]any); len(list) != 0 {
		t.Errorf("it has %d snapshots", len(list))
	}
	if list := s.Read("/allowlists/" + s.Org).([]any); len(list) != 0 {
		t.Errorf("it permits %s", apitest.AsJSON(list))
	}
	s.Want(http.StatusBadRequest, http.MethodPut, s.EnvironmentsPath()+"/prod/report/server", apitest.ServerReport("a"))
	s.ArchiveEnvironment("prod")
	s.CreateEnvironment("prod", evidence.LogicalType)
	if got := s.GetEnvironment("prod"); got.Type != "logical" || got.Included == nil {
		t.Errorf("revived again as %+v", got)
	}
}

func TestLogicalEnvironmentKeepsWorkingWithAnArchivedMember(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("one", evidence.Server)
	s.CreateEnvironment("two", evidence.Server)
	s.CreateLogical("all", "two", "one")
	s.ReportServer("one", "a")
	s.ReportServer("two", "a")
	s.SetState("one", new(true))
	s.SetState("two", new(false))
	changed := s.GetEnvironment("two").LastChangedAt
	s.ArchiveEnvironment("two")
	assert := func(when, state string, want ...string) {
		t.Helper()
		got := s.GetEnvironment("all")
		apitest.EqualList(t, got.Included, want, when)
		apitest.Equal(t, apitest.Column(t, s.Read(s.EnvironmentsPath()+"?type=logical"), "included_environments"),
			fmt.Sprint(want), when)
		if boolText(got.State) != state || got.LastChangedAt == nil || *got.LastChangedAt != *changed {
			t.Errorf("%s: %s, changed at %v", when, boolText(got.State), got.LastChangedAt)
		}
	}
	assert("archived", "true", "two", "one")
	s.Want(http.StatusOK, http.MethodPut, s.EnvironmentsPath(),
		[]byte(`{"name":"all","type":"logical","description":"again","included_environments":["two","one"]}`))
	assert("the same list put again", "true", "two", "one")
	s.ChangeEnvironment(http.MethodPatch, "/all", `{"included_environments":["two","one","two"]}`)
	assert("listed twice", "true", "two", "one", "two")
	archived := apitest.Lookup(t, s.Read(s.EnvironmentsPath()+"/all"), "archived_environments")
	apitest.Equal(t, apitest.AsJSON(archived), `["two"]`, "archived members")
	s.ChangeEnvironment(http.MethodPatch, "/all", `{"included_environments":["one","two"]}`)
	assert("in another order", "true", "one", "two")
	s.CreateEnvironment("three", evidence.Server)
	s.ChangeEnvironment(http.MethodPut, "/all/join", `{"physical_env_name":"three"}`)
	assert("joined", "<nil>", "one", "two", "three")
	s.ChangeEnvironment(http.MethodPatch, "/all", `{"included_environments":["one"]}`)
	s.WantError(http.StatusNotFound, "Environment named 'two' has been archived for organization '"+s.Org+"'",
		http.MethodPatch, s.EnvironmentsPath()+"/all", `{"included_environments":["one","two"]}`)
}

func TestArtifactsDoNotRunInArchivedEnvironments(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	fingerprint := evidence.HashAPIKey("web")
	s.ReportArtifact("build", "t", "app", fingerprint, apitest.FirstCommit)
	for _, name := range []string{"prod", "beta"} {
		s.CreateEnvironment(name, evidence.Server)
		s.ReportServer(name, "web")
	}
	path := "/artifacts/" + s.Org + "/build/fingerprint/" + fingerprint
	apitest.Eventually(t, "the artifact runs in two environments", func() bool {
		return len(apitest.Lookup(t, s.Read(path), "running").([]any)) == 2
	})
	s.RenameEnvironment("beta", "gamma")
	apitest.Equal(t, apitest.Column(t, apitest.Lookup(t, s.Read(path), "running"), "environment_name"),
		"gamma prod", "runs in")
	s.ArchiveEnvironment("prod")
	got := s.Read(path)
	if running := apitest.Column(t, apitest.Lookup(t, got, "running"), "environment_name"); running != "gamma" || len(apitest.Lookup(t, got, "exited").([]any)) != 0 {
		t.Errorf("runs in %s, exited from %s", running, apitest.AsJSON(apitest.Lookup(t, got, "exited")))
	}
	apitest.Equal(t, apitest.History(t, got),
		"app reported Started running in prod#1 environment Started running in gamma#1 environment", "history")
	artifacts, _ := s.Search(fingerprint)
	found := apitest.Lookup(t, artifacts, 0)
	if running, exited := fmt.Sprint(apitest.Lookup(t, found, "running_in")), fmt.Sprint(apitest.Lookup(t, found, "exited_from")); running != "[gamma]" || exited != "[]" {
		t.Errorf("searched: runs in %s, exited from %s", running, exited)
	}
	// A new environment of the same name does not get the lead times of the archived one.
	s.CreateEnvironment("prod", evidence.Server)
	if times := apitest.Lookup(t, s.Read(path), "build_lead_times").(map[string]any); len(times) != 1 || times["gamma"] == nil {
		t.Errorf("lead times %v", times)
	}
}

// TestRevivedMemberRejoinsItsLogicalEnvironment archives a member and creates it again, as Terraform does: it does not
// change the logical environment's list of members.
func TestRevivedMemberRejoinsItsLogicalEnvironment(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("web", evidence.Server)
	s.CreateEnvironment("db", evidence.Server)
	s.CreateLogical("all", "web", "db", "web")
	s.ReportServer("web", "old")
	s.Want(http.StatusOK, http.MethodPut, s.EnvironmentsPath()+"/web/archive", nil)
	if got := s.GetSnapshot("all", "-1"); got.Index != 2 || got.ArtifactComplianceCount["null"] != 0 {
		t.Errorf("without the archived member snapshot %d runs %v", got.Index, got.Artifacts)
	}
	s.CreateEnvironment("web", evidence.Server)
	apitest.Equal(t, s.GetSnapshot("all", "-1").Index, 3, "the revived member joins with snapshot")
	s.ReportServer("web", "new")
	s.Want(http.StatusOK, http.MethodPut, s.EnvironmentsPath()+"/all/join", []byte(`{"physical_env_name":"web"}`))
	apitest.EqualList(t, s.GetEnvironment("all").Included, []string{"web", "db", "web"})
	got := s.GetSnapshot("all", "-1")
	if got.Index != 4 || len(got.Artifacts) != 1 || got.Artifacts[0]["name"] != "/opt/new" {
		t.Errorf("snapshot %d runs %v", got.Index, got.Artifacts)
	}
	s.WantEvents("all", "", "new started-unknown #4", "old started-unknown #1")
	events := s.Read(s.EnvironmentsPath() + "/all/events").([]any)
	if _, marked := events[0].(map[string]any)["environment_archived"]; marked || apitest.Lookup(t, events[1], "environment_archived") != true {
		t.Errorf("the events do not say which web is archived: %s", apitest.AsJSON(events))
	}
	if count := apitest.Lookup(t, s.Read("/deployments/"+s.Org+"?env_name=all"), "total_count"); count != 1.0 {
		t.Errorf("%v deployments", count)
	}
}
