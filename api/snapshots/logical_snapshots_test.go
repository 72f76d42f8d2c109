package snapshots_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"reflect"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/storagetest"
	"attestry/tasks/reports"
)

// discardChanges ignores notifications about changed environments.
type discardChanges struct{}

func (discardChanges) PublishChange(context.Context, string) {}

func TestSnapshotsOfALogicalEnvironmentDoNotChange(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{StoppedAt: apitest.MonthStart})
	for _, name := range []string{"one", "two", "three"} {
		s.CreateEnvironment(name, evidence.Server)
	}
	s.ReportServer("three", "c")
	s.CreateLogical("all", "one", "two")
	if list := s.Read("/snapshots/" + s.Org + "/all").([]any); len(list) != 0 {
		t.Errorf("before anything has run it has the snapshots %v", list)
	}
	runsOf := map[int]string{}
	var bodies []any
	step := func(what string, do func(), runs string) {
		t.Helper()
		s.Clock.Advance(time.Hour)
		do()
		number := len(bodies) + 1
		if got := s.GetSnapshot("all", "-1"); int(got.Index) != number || got.RunningNames() != runs {
			t.Errorf("%s: snapshot %d runs %s, want %s by snapshot %d", what, got.Index, got.RunningNames(), runs, number)
		}
		runsOf[number] = runs
		bodies = append(bodies, apitest.Lookup(t, s.Read(fmt.Sprintf("/snapshots/%s/all/%d", s.Org, number)), "artifacts"))
	}
	step("a report", func() { s.ReportServer("one", "a") }, "a")
	step("another report", func() { s.ReportServer("two", "a", "b") }, "a b")
	step("a member joins", func() { s.ChangeEnvironment(http.MethodPut, "/all/join", `{"physical_env_name":"three"}`) }, "a b c")
	step("a member leaves", func() { s.ChangeEnvironment(http.MethodPatch, "/all", `{"included_environments":["three","two"]}`) }, "a b c")
	s.ChangeEnvironment(http.MethodPatch, "/all", `{"included_environments":["three","two","three"]}`) // makes no snapshot
	step("a member is archived", func() { s.ArchiveEnvironment("two") }, "c")
	apitest.Equal(t, fmt.Sprint(s.GetSnapshot("all", "-1").Artifacts[0]["annotation"]),
		"map[now:1 type:unchanged was:1]", "what runs in a member that is listed twice has the annotation")
	step("its successor reports", func() {
		s.CreateEnvironment("two", evidence.Server)
		bodies = append(bodies, apitest.Lookup(t, s.Read("/snapshots/"+s.Org+"/all/6"), "artifacts")) // it joins
		s.ReportServer("two", "d")
	}, "c d")
	for i, body := range bodies {
		if now := apitest.Lookup(t, s.Read(fmt.Sprintf("/snapshots/%s/all/%d", s.Org, i+1)), "artifacts"); !reflect.DeepEqual(now, body) {
			t.Errorf("snapshot %d has become\n%s, it was\n%s", i+1, apitest.AsJSON(now), apitest.AsJSON(body))
		}
		if runs, ok := runsOf[i+1]; ok && s.GetSnapshot("all", fmt.Sprint(i+1)).RunningNames() != runs {
			t.Errorf("snapshot %d does not run %s", i+1, runs)
		}
	}
	// The log has no events of a member from before it joined.
	s.WantEvents("all", "", "d started-unknown #7", "a started-unknown #2", "b started-unknown #2", "a started-unknown #1")
	diff := s.Read("/env-diff/" + s.Org + "?snappish1=all%232&snappish2=all%235")
	for side, want := range map[string]string{"snappish1": "/opt/a /opt/b", "snappish2": "/opt/c"} {
		apitest.Equal(t, apitest.Column(t, apitest.Lookup(t, diff, side, "artifacts"), "name"), want, side)
	}
	diff = s.Read("/env-diff/" + s.Org + "?snappish1=all&snappish2=three")
	if only, both := apitest.Column(t, apitest.Lookup(t, diff, "snappish1", "artifacts"), "name"), apitest.Column(t, apitest.Lookup(t, diff, "not-changed", "artifacts"), "name"); only != "/opt/d" || both != "/opt/c" {
		t.Errorf("compared with a member it has %s more, %s alike", only, both)
	}
	s.WantError(http.StatusNotFound, "Org: '"+s.Org+"'. Snapshot 'all#8' resolves to 'all#8'. len(snapshots) == 7. Indexes are 1-based",
		http.MethodGet, "/snapshots/"+s.Org+"/all/8", "")
}

// TestSnapshotsOfALogicalEnvironmentKeepTheirVerdict archives a member that is not compliant.
func TestSnapshotsOfALogicalEnvironmentKeepTheirVerdict(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("one", evidence.Server)
	s.CreateEnvironment("two", evidence.Server)
	for _, name := range []string{"one", "two"} {
		s.ReportServer(name, name)
		s.SetState(name, new(name == "one"))
	}
	s.CreateLogical("all", "one", "two")
	s.ArchiveEnvironment("two")
	compliant := []bool{}
	for _, item := range s.Read("/snapshots/" + s.Org + "/all?reverse=true").([]any) {
		compliant = append(compliant, apitest.Lookup(t, item, "compliant").(bool))
	}
	apitest.EqualList(t, compliant, []bool{false, true})
}

// TestUnfinishedChangeOfMembersIsCompletedByTheNextReader changes members in the store without the writes that follow
// in the service, as a process does that is killed in between.
func TestUnfinishedChangeOfMembersIsCompletedByTheNextReader(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	environments := s.Process.Store.Environments
	for _, name := range []string{"one", "two"} {
		s.CreateEnvironment(name, evidence.Server)
		s.ReportServer(name, name)
	}
	s.CreateLogical("all", "one")
	s.Must(environments.Modify(t.Context(), s.EnvironmentID("all"), 1, func(e *evidence.Environment) (bool, error) {
		return e.Join(s.EnvironmentID("two"))
	}))
	if got := s.GetSnapshot("all", "-1"); got.Index != 2 || got.RunningNames() != "one two" {
		t.Errorf("joined: snapshot %d runs %s", got.Index, got.RunningNames())
	}
	s.Must(environments.Archive(t.Context(), s.OrgID(), "one", 2))
	if list := s.Read("/snapshots/" + s.Org + "/all").([]any); len(list) != 3 {
		t.Errorf("archived: %d snapshots", len(list))
	}
	apitest.Equal(t, s.GetSnapshot("all", "-1").RunningNames(), "two", "archived: it runs")
	s.ReportServer("two", "three")
	s.WantEvents("all", "", "two exited #4", "three started-unknown #4")
}

// TestLogicalEnvironmentOfAnEarlierVersionIsNumberedFromItsFirstRead stores a logical environment as written by a
// version that neither numbered nor indexed its snapshots.
func TestLogicalEnvironmentOfAnEarlierVersionIsNumberedFromItsFirstRead(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	documents := s.Process.Store.Documents
	s.CreateEnvironment("one", evidence.Server)
	s.CreateLogical("all", "one")
	schema := schemaOf(t, "environments")
	record, err := documents.Get(t.Context(), schema, s.EnvironmentID("all"))
	s.Must(err)
	delete(record.Fields, "logical")
	s.Must(storagetest.Put(t.Context(), documents, schema, record))
	s.ReportServer("one", "a")
	s.ReportServer("one", "b")
	if got := s.GetSnapshot("all", "-1"); got.Index != 1 || got.RunningNames() != "b" {
		t.Errorf("the first read finds snapshot %d of %s", got.Index, got.RunningNames())
	}
	s.ReportServer("one", "c")
	s.WantEvents("all", "", "b exited #2", "c started-unknown #2")
}

func schemaOf(t *testing.T, name string) *storage.Schema {
	t.Helper()
	for _, schema := range app.Schemas() {
		if schema.Name == name {
			return schema
		}
	}
	t.Fatalf("no collection %s", name)
	return nil
}

func TestReadingALogicalEnvironmentCostsTheSameHoweverManyMembers(t *testing.T) {
	s, counting := apitest.StartCounting(t, apitest.Options{WithoutWorker: true, ReportWait: time.Millisecond})
	processor := reports.NewProcessor(s.Process.Store, discardChanges{}, s.Clock.Read, slog.New(slog.DiscardHandler), func(string) {})
	runs := func(environment, name string) {
		t.Helper()
		s.Want(http.StatusOK, http.MethodPut, s.EnvironmentsPath()+"/"+environment+"/report/server", apitest.ServerReport(name))
		s.Must(processor.Drain(t.Context(), s.EnvironmentID(environment)))
	}
	var members []string
	for i := range 40 {
		members = append(members, fmt.Sprint("m", i))
		s.CreateEnvironment(members[i], evidence.Server)
	}
	s.CreateLogical("few", members[:2]...)
	s.CreateLogical("many", members...)
	for i, name := range members {
		runs(name, fmt.Sprint("v", i))
	}
	runs("m0", "next")
	commands := func(s *apitest.Service, path string) int {
		s.T.Helper()
		least := math.MaxInt
		for range 3 {
			counting.Reset()
			s.Read(path)
			least = min(least, counting.Snapshot().Commands())
		}
		return least
	}
	apitest.EachOf(s, []string{
		"/snapshots/" + s.Org + "/%s/-1", "/snapshots/" + s.Org + "/%s/1", "/snapshots/" + s.Org + "/%s/~1",
		"/snapshots/" + s.Org + "/%s", "/snapshots/" + s.Org + "/%s?interval=1..2",
		s.EnvironmentsPath() + "/%s/events", s.EnvironmentsPath() + "/%s/events?start=1&end=2&page=1&per_page=1",
		"/env-diff/" + s.Org + "?snappish1=%s~1&snappish2=m1",
	}, func(s *apitest.Service, path string) {
		few, many := commands(s, fmt.Sprintf(path, "few")), commands(s, fmt.Sprintf(path, "many"))
		if many > few || few > 26 {
			s.T.Errorf("%s takes %d commands with 2 members, %d with 40", path, few, many)
		}
	})
}

func TestLogicalSnapshotsSayWhatChangedAVerdict(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Docker)
	s.CreateLogical("all", "prod")
	s.StorePolicy("prov", "provenance: {required: true}")
	s.Report(http.StatusCreated, "prod", "docker", renamed("web:1", evidence.HashAPIKey("web")))
	s.Attach("prod", "prov")
	s.AllowArtifact("prod", "web", "an exception")
	for number, by := range map[string]string{"2": "policies", "3": "allow_list"} {
		for _, environment := range []string{"prod", "all"} {
			apitest.WantMember(t, s.GetSnapshot(environment, number).Artifacts[0]["annotation"], "by", by)
		}
	}
}

// TestStartsInAnotherMemberAreNoWorkOfTheAllowList has an artifact that one member permits, and that begins to run in
// another one, which does not.
func TestStartsInAnotherMemberAreNoWorkOfTheAllowList(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.StorePolicy("prov", "provenance: {required: true}")
	for _, name := range []string{"strict", "lenient"} {
		s.CreateEnvironment(name, evidence.Docker)
		s.Attach(name, "prov")
	}
	s.AllowArtifact("lenient", "web", "an exception")
	s.CreateLogical("all", "strict", "lenient")
	for _, name := range []string{"lenient", "strict"} {
		s.Report(http.StatusCreated, name, "docker", renamed("web:1", evidence.HashAPIKey("web")))
	}
	got := s.GetSnapshot("all", "-1").Artifacts[0]["annotation"]
	if apitest.Lookup(t, got, "type") != string(snapshot.BecameNonCompliant) || apitest.Lookup(t, got, "by") != string(snapshot.ByEvidence) {
		t.Errorf("the artifact has the annotation %s", apitest.AsJSON(got))
	}
}
