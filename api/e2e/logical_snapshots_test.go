package e2e_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/storagetest"
	"attestry/tasks/reports"
)

// runningNames returns the sorted names of the running artifacts.
func (b snapshotBody) runningNames() string {
	var names []string
	for _, artifact := range b.Artifacts {
		if annotation(artifact) != "exited" {
			names = append(names, strings.TrimPrefix(artifact["name"].(string), "/opt/"))
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// discardChanges ignores notifications about changed environments.
type discardChanges struct{}

func (discardChanges) PublishChange(context.Context, string) {}

// TestLateReportKeepsTheNumbersOfALogicalEnvironment processes the reports of two members in the reverse order of their
// acceptance.
func TestLateReportKeepsTheNumbersOfALogicalEnvironment(t *testing.T) {
	t.Parallel()
	s := start(t, options{real: true, withoutWorker: true, reportWait: time.Millisecond, stoppedAt: monthStart})
	s.createEnvironment("slow", evidence.Server)
	s.createEnvironment("quick", evidence.Server)
	s.createLogical("all", "slow", "quick")
	processor := reports.NewProcessor(s.Process.Store, discardChanges{}, s.clock.read, slog.New(slog.DiscardHandler), func(string) {})
	accept := func(environment, name string) {
		t.Helper()
		s.want(http.StatusOK, http.MethodPut, s.environmentsPath()+"/"+environment+"/report/server", serverReport(name))
		s.clock.advance(time.Minute)
	}
	process := func(environment string) {
		t.Helper()
		s.must(processor.Drain(t.Context(), s.environmentID(environment)))
	}
	accept("slow", "late")
	accept("quick", "early")
	process("quick")
	first := s.getSnapshot("all", "1")
	if first.runningNames() != "early" || !first.IsLatest {
		t.Fatalf("snapshot 1 runs %s", first.runningNames())
	}
	process("slow")
	again, second := s.getSnapshot("all", "1"), s.getSnapshot("all", "-1")
	if again.runningNames() != "early" || again.Timestamp != first.Timestamp {
		t.Errorf("snapshot 1 has become that of %s at %f", again.runningNames(), again.Timestamp)
	}
	if second.Index != 2 || second.runningNames() != "early late" || second.Timestamp <= first.Timestamp {
		t.Errorf("snapshot %d at %f runs %s", second.Index, second.Timestamp, second.runningNames())
	}
	s.wantEvents("all", "", "late started-unknown #2", "early started-unknown #1")
}

func TestSnapshotsOfALogicalEnvironmentDoNotChange(t *testing.T) {
	t.Parallel()
	s := start(t, options{stoppedAt: monthStart})
	for _, name := range []string{"one", "two", "three"} {
		s.createEnvironment(name, evidence.Server)
	}
	s.reportServer("three", "c")
	s.createLogical("all", "one", "two")
	if list := s.read("/snapshots/" + s.org + "/all").([]any); len(list) != 0 {
		t.Errorf("before anything has run it has the snapshots %v", list)
	}
	runsOf := map[int]string{}
	var bodies []any
	step := func(what string, do func(), runs string) {
		t.Helper()
		s.clock.advance(time.Hour)
		do()
		number := len(bodies) + 1
		if got := s.getSnapshot("all", "-1"); int(got.Index) != number || got.runningNames() != runs {
			t.Errorf("%s: snapshot %d runs %s, want %s by snapshot %d", what, got.Index, got.runningNames(), runs, number)
		}
		runsOf[number] = runs
		bodies = append(bodies, lookup(t, s.read(fmt.Sprintf("/snapshots/%s/all/%d", s.org, number)), "artifacts"))
	}
	step("a report", func() { s.reportServer("one", "a") }, "a")
	step("another report", func() { s.reportServer("two", "a", "b") }, "a b")
	step("a member joins", func() { s.changeEnvironment(http.MethodPut, "/all/join", `{"physical_env_name":"three"}`) }, "a b c")
	step("a member leaves", func() { s.changeEnvironment(http.MethodPatch, "/all", `{"included_environments":["three","two"]}`) }, "a b c")
	s.changeEnvironment(http.MethodPatch, "/all", `{"included_environments":["three","two","three"]}`) // makes no snapshot
	step("a member is archived", func() { s.archiveEnvironment("two") }, "c")
	if got := fmt.Sprint(s.getSnapshot("all", "-1").Artifacts[0]["annotation"]); got != "map[now:1 type:unchanged was:1]" {
		t.Errorf("what runs in a member that is listed twice has the annotation %s", got)
	}
	step("its successor reports", func() {
		s.createEnvironment("two", evidence.Server)
		bodies = append(bodies, lookup(t, s.read("/snapshots/"+s.org+"/all/6"), "artifacts")) // it joins
		s.reportServer("two", "d")
	}, "c d")
	for i, body := range bodies {
		if now := lookup(t, s.read(fmt.Sprintf("/snapshots/%s/all/%d", s.org, i+1)), "artifacts"); !reflect.DeepEqual(now, body) {
			t.Errorf("snapshot %d has become\n%s, it was\n%s", i+1, asJSON(now), asJSON(body))
		}
		if runs, ok := runsOf[i+1]; ok && s.getSnapshot("all", fmt.Sprint(i+1)).runningNames() != runs {
			t.Errorf("snapshot %d does not run %s", i+1, runs)
		}
	}
	// The log has no events of a member from before it joined.
	s.wantEvents("all", "", "d started-unknown #7", "a started-unknown #2", "b started-unknown #2", "a started-unknown #1")
	diff := s.read("/env-diff/" + s.org + "?snappish1=all%232&snappish2=all%235")
	for side, want := range map[string]string{"snappish1": "/opt/a /opt/b", "snappish2": "/opt/c"} {
		if got := column(t, lookup(t, diff, side, "artifacts"), "name"); got != want {
			t.Errorf("the diff has %s only in %s, want %s", got, side, want)
		}
	}
	diff = s.read("/env-diff/" + s.org + "?snappish1=all&snappish2=three")
	if only, both := column(t, lookup(t, diff, "snappish1", "artifacts"), "name"), column(t, lookup(t, diff, "not-changed", "artifacts"), "name"); only != "/opt/d" || both != "/opt/c" {
		t.Errorf("compared with a member it has %s more, %s alike", only, both)
	}
	s.wantError(http.StatusNotFound, "Org: '"+s.org+"'. Snapshot 'all#8' resolves to 'all#8'. len(snapshots) == 7. Indexes are 1-based",
		http.MethodGet, "/snapshots/"+s.org+"/all/8", "")
}

// TestSnapshotsOfALogicalEnvironmentKeepTheirVerdict archives a member that is not compliant.
func TestSnapshotsOfALogicalEnvironmentKeepTheirVerdict(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("one", evidence.Server)
	s.createEnvironment("two", evidence.Server)
	for _, name := range []string{"one", "two"} {
		s.reportServer(name, name)
		s.setState(name, new(name == "one"))
	}
	s.createLogical("all", "one", "two")
	s.archiveEnvironment("two")
	compliant := []bool{}
	for _, item := range s.read("/snapshots/" + s.org + "/all?reverse=true").([]any) {
		compliant = append(compliant, lookup(t, item, "compliant").(bool))
	}
	if !slices.Equal(compliant, []bool{false, true}) {
		t.Errorf("listed as compliant: %v", compliant)
	}
}

// TestUnfinishedChangeOfMembersIsCompletedByTheNextReader changes members in the store without the writes that follow
// in the service, as a process does that is killed in between.
func TestUnfinishedChangeOfMembersIsCompletedByTheNextReader(t *testing.T) {
	t.Parallel()
	s := share(t)
	environments := s.Process.Store.Environments
	for _, name := range []string{"one", "two"} {
		s.createEnvironment(name, evidence.Server)
		s.reportServer(name, name)
	}
	s.createLogical("all", "one")
	s.must(environments.Modify(t.Context(), s.environmentID("all"), 1, func(e *evidence.Environment) (bool, error) {
		return e.Join(s.environmentID("two"))
	}))
	if got := s.getSnapshot("all", "-1"); got.Index != 2 || got.runningNames() != "one two" {
		t.Errorf("joined: snapshot %d runs %s", got.Index, got.runningNames())
	}
	s.must(environments.Archive(t.Context(), s.orgID(), "one", 2))
	if list := s.read("/snapshots/" + s.org + "/all").([]any); len(list) != 3 {
		t.Errorf("archived: %d snapshots", len(list))
	}
	if got := s.getSnapshot("all", "-1"); got.runningNames() != "two" {
		t.Errorf("archived: it runs %s", got.runningNames())
	}
	s.reportServer("two", "three")
	s.wantEvents("all", "", "two exited #4", "three started-unknown #4")
}

func TestLogicalEnvironmentShowsPodsOfTheSameNameInAllMembers(t *testing.T) {
	t.Parallel()
	s := share(t)
	for i, name := range []string{"k1", "k2"} {
		s.createEnvironment(name, evidence.K8S)
		s.report(http.StatusCreated, name, "K8S", fmt.Sprintf(
			`{"artifacts":[{"digests":{"pg":%q},"podName":"pg-0","namespace":"db","creationTimestamp":%d}]}`, evidence.HashAPIKey("pg"), 100*(i+1)))
	}
	s.createLogical("all", "k1", "k2")
	artifact := s.getSnapshot("all", "-1").runningNamed("pg")[0]
	if got, want := asJSON(artifact["pods"]), `{"db/pg-0":{"creationTimestamp":200,"namespace":"db","owners":[]},"pg-0":{"creationTimestamp":100,"namespace":"db","owners":[]}}`; got != want {
		t.Errorf("pods are %s, want %s", got, want)
	}
}

// TestLogicalEnvironmentOfAnEarlierVersionIsNumberedFromItsFirstRead stores a logical environment as written by a
// version that neither numbered nor indexed its snapshots.
func TestLogicalEnvironmentOfAnEarlierVersionIsNumberedFromItsFirstRead(t *testing.T) {
	t.Parallel()
	s := share(t)
	documents := s.Process.Store.Documents
	s.createEnvironment("one", evidence.Server)
	s.createLogical("all", "one")
	schema := schemaOf(t, "environments")
	record, err := documents.Get(t.Context(), schema, s.environmentID("all"))
	s.must(err)
	delete(record.Fields, "logical")
	s.must(storagetest.Put(t.Context(), documents, schema, record))
	s.reportServer("one", "a")
	s.reportServer("one", "b")
	if got := s.getSnapshot("all", "-1"); got.Index != 1 || got.runningNames() != "b" {
		t.Errorf("the first read finds snapshot %d of %s", got.Index, got.runningNames())
	}
	s.reportServer("one", "c")
	s.wantEvents("all", "", "b exited #2", "c started-unknown #2")
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
	s, counting := startCounting(t, options{withoutWorker: true, reportWait: time.Millisecond})
	processor := reports.NewProcessor(s.Process.Store, discardChanges{}, s.clock.read, slog.New(slog.DiscardHandler), func(string) {})
	runs := func(environment, name string) {
		t.Helper()
		s.want(http.StatusOK, http.MethodPut, s.environmentsPath()+"/"+environment+"/report/server", serverReport(name))
		s.must(processor.Drain(t.Context(), s.environmentID(environment)))
	}
	var members []string
	for i := range 40 {
		members = append(members, fmt.Sprint("m", i))
		s.createEnvironment(members[i], evidence.Server)
	}
	s.createLogical("few", members[:2]...)
	s.createLogical("many", members...)
	for i, name := range members {
		runs(name, fmt.Sprint("v", i))
	}
	runs("m0", "next")
	commands := func(s *service, path string) int {
		s.t.Helper()
		least := math.MaxInt
		for range 3 {
			counting.Reset()
			s.read(path)
			least = min(least, counting.Snapshot().Commands())
		}
		return least
	}
	for _, path := range []string{
		"/snapshots/" + s.org + "/%s/-1", "/snapshots/" + s.org + "/%s/1", "/snapshots/" + s.org + "/%s/~1",
		"/snapshots/" + s.org + "/%s", "/snapshots/" + s.org + "/%s?interval=1..2",
		s.environmentsPath() + "/%s/events", s.environmentsPath() + "/%s/events?start=1&end=2&page=1&per_page=1",
		"/env-diff/" + s.org + "?snappish1=%s~1&snappish2=m1",
	} {
		t.Run(s.caseName(path), func(t *testing.T) {
			s := s.in(t)
			few, many := commands(s, fmt.Sprintf(path, "few")), commands(s, fmt.Sprintf(path, "many"))
			if many > few || few > 26 {
				t.Errorf("%s takes %d commands with 2 members, %d with 40", path, few, many)
			}
		})
	}
}

// TestLogicalEnvironmentIsReadWhenASnapshotOfAMemberIsMissing lets the head of a member refer to a snapshot that does
// not exist.
func TestLogicalEnvironmentIsReadWhenASnapshotOfAMemberIsMissing(t *testing.T) {
	t.Parallel()
	s := start(t, options{stoppedAt: monthStart})
	s.createEnvironment("one", evidence.Server)
	s.reportServer("one", "a")
	s.createLogical("all", "one")
	_, err := s.Process.Store.Heads.Update(t.Context(), s.environmentID("one"), func(head *snapshot.Head) error {
		head.Last++
		return nil
	})
	s.must(err)
	if shown := s.getSnapshot("all", "-1"); shown.Index != 1 || shown.runningNames() != "a" {
		t.Errorf("snapshot %d runs %s", shown.Index, shown.runningNames())
	}
	s.want(http.StatusOK, http.MethodGet, "/snapshots/"+s.org+"/all", nil)
	s.want(http.StatusOK, http.MethodGet, s.environmentsPath()+"/all/events", nil)
}

func TestLogicalSnapshotsSayWhatChangedAVerdict(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Docker)
	s.createLogical("all", "prod")
	s.storePolicy("prov", "provenance: {required: true}")
	s.report(http.StatusCreated, "prod", "docker", renamed("web:1", evidence.HashAPIKey("web")))
	s.attach("prod", "prov")
	s.allowArtifact("prod", "web", "an exception")
	for number, by := range map[string]string{"2": "policies", "3": "allow_list"} {
		for _, environment := range []string{"prod", "all"} {
			if got := s.getSnapshot(environment, number).Artifacts[0]["annotation"]; lookup(t, got, "by") != by {
				t.Errorf("%s#%s: %s, want %s", environment, number, asJSON(got), by)
			}
		}
	}
}

// TestStartsInAnotherMemberAreNoWorkOfTheAllowList has an artifact that one member permits, and that begins to run in
// another one, which does not.
func TestStartsInAnotherMemberAreNoWorkOfTheAllowList(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.storePolicy("prov", "provenance: {required: true}")
	for _, name := range []string{"strict", "lenient"} {
		s.createEnvironment(name, evidence.Docker)
		s.attach(name, "prov")
	}
	s.allowArtifact("lenient", "web", "an exception")
	s.createLogical("all", "strict", "lenient")
	for _, name := range []string{"lenient", "strict"} {
		s.report(http.StatusCreated, name, "docker", renamed("web:1", evidence.HashAPIKey("web")))
	}
	got := s.getSnapshot("all", "-1").Artifacts[0]["annotation"]
	if lookup(t, got, "type") != string(snapshot.BecameNonCompliant) || lookup(t, got, "by") != string(snapshot.ByEvidence) {
		t.Errorf("the artifact has the annotation %s", asJSON(got))
	}
}
