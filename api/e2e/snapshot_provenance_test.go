package e2e_test

import (
	"fmt"
	"math"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/storagetest"
)

// noonOf30March is the start of the clock in tests of provenance.
var noonOf30March = time.Date(2026, time.March, 30, 12, 0, 0, 0, time.UTC)

// reportFile reports a file of a server as an artifact of a flow, built from a commit of an hour ago.
func (s *service) reportFile(flow, name string) {
	s.t.Helper()
	commit := commitOf(name)
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/"+flow, fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":%q,"git_commit":%q,"git_commit_info":{"sha1":%q,"message":"Change %s","author":"A. Person <person@example.com>","branch":"main",
		"timestamp":%d,"url":"https://github.com/acme/%s/commit/%s"},"repo_info":{"name":"acme/%s","url":"https://github.com/acme/%s","provider":"github"},
		"build_url":"https://ci.example.com/1","commit_url":"https://github.com/acme/%s/commit/%s","template_reference_name":"app","trail_name":"trail-of-%s"}`,
		evidence.HashAPIKey(name), name, commit, commit, name, s.clock.read().Add(-time.Hour).Unix(), flow, commit, flow, flow, flow, commit, name))
}

// artifact returns the artifact of a file.
func (b snapshotBody) artifact(t *testing.T, file string) map[string]any {
	t.Helper()
	for _, artifact := range b.Artifacts {
		if artifact["fingerprint"] == evidence.HashAPIKey(file) {
			return artifact
		}
	}
	t.Fatalf("snapshot %d has no artifact %s", b.Index, file)
	return nil
}

// artifactID returns the id of an artifact's newest record in a flow.
func (s *service) artifactID(flow, file string) string {
	s.t.Helper()
	return lookup(s.t, s.read("/artifacts/"+s.org+"/"+flow+"/fingerprint/"+evidence.HashAPIKey(file)), "id").(string)
}

// TestSnapshotShowsProvenance compares what snapshots show of flows with docs/semantics.md 11.3.
func TestSnapshotShowsProvenance(t *testing.T) {
	t.Parallel()
	s := start(t, options{real: true, stoppedAt: noonOf30March})
	s.createEnvironment("host", evidence.Server)
	s.reportFile("build", "app-1")
	s.reportServer("host", "app-1", "stranger")
	s.clock.advance(time.Hour)
	s.reportFile("build", "app-2")
	s.clock.advance(time.Minute)
	s.reportFile("promotion", "app-2")
	s.clock.advance(time.Minute)
	s.reportServer("host", "app-2", "stranger")

	second := s.getSnapshot("host", "2")
	started, commit := second.artifact(t, "app-2"), commitOf("app-2")
	committed := float64(noonOf30March.Unix())
	page := s.URL + "/" + s.org + "/flows/build/artifacts/" + evidence.HashAPIKey("app-2") + "?artifact_id=" + s.artifactID("build", "app-2")
	want := map[string]any{
		"flow_name": "build", "trail_name": "trail-of-app-2", "template_reference_name": "app",
		"git_commit": commit, "commit_url": "https://github.com/acme/build/commit/" + commit,
		"git_commit_info": map[string]any{
			"sha1": commit, "message": "Change app-2", "author": "A. Person <person@example.com>", "branch": "main",
			"timestamp": committed, "url": "https://github.com/acme/build/commit/" + commit,
		},
		"html_url": page, "flow_html_url": s.URL + "/" + s.org + "/flows/build",
		"deployment_diff": map[string]any{
			"diff_url":                           "https://github.com/acme/build/compare/" + commitOf("app-1") + "..." + commit,
			"previous_git_commit":                commitOf("app-1"),
			"previous_fingerprint":               evidence.HashAPIKey("app-1"),
			"previous_artifact_name":             "/opt/app-1",
			"previous_artifact_compliance_state": "COMPLIANT",
			"previous_running":                   false,
			"previous_git_commit_url":            "https://github.com/acme/build/commit/" + commitOf("app-1"),
			"previous_trail_name":                "trail-of-app-1",
			"previous_template_reference_name":   "app",
		},
		"commit_lead_time": evidence.RoundSeconds(second.Timestamp - committed), "artifact_compliance_in_flow": true, "flow_reasons_for_non_compliance": []any{},
	}
	if got := lookup(t, started, "flows", 0); !reflect.DeepEqual(got, want) {
		t.Errorf("the build flow is\n%v, want\n%v", got, want)
	}
	for _, member := range []string{"flow_name", "git_commit", "commit_url", "html_url", "flow_html_url", "deployment_diff", "commit_lead_time"} {
		if !reflect.DeepEqual(started[member], want[member]) {
			t.Errorf("%s of the artifact is %v, not that of its first flow", member, started[member])
		}
	}
	promotion := lookup(t, started, "flows", 1)
	if lookup(t, promotion, "flow_name") != "promotion" || lookup(t, promotion, "deployment_diff") != nil || len(started["flows"].([]any)) != 2 {
		t.Errorf("the other flow is %v", promotion)
	}
	if exited := second.artifact(t, "app-1"); annotation(exited) != "exited" || exited["flow_name"] != "build" || exited["deployment_diff"] != nil {
		t.Errorf("the exited artifact is %v", exited)
	}
	stranger := second.artifact(t, "stranger")
	for _, member := range []string{"flow_name", "git_commit", "commit_url", "html_url", "flow_html_url", "deployment_diff", "commit_lead_time", "ecs_context"} {
		if value, there := stranger[member]; value != nil || !there {
			t.Errorf("%s of an artifact without a flow is %v", member, value)
		}
	}
	if flows := stranger["flows"]; !reflect.DeepEqual(flows, []any{}) {
		t.Errorf("flows of an artifact without a flow are %v", flows)
	}
}

func TestSnapshotShowsWhetherThePredecessorRuns(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("host", evidence.Server)
	s.reportFile("build", "app-1")
	s.reportServer("host", "app-1")
	s.reportFile("build", "app-2")
	s.reportServer("host", "app-1", "app-2")
	s.reportServer("host", "app-2")
	for expression, want := range map[string]bool{"2": true, "3": false} {
		t.Run("snapshot "+expression, func(t *testing.T) {
			s := s.in(t)
			if got := lookup(t, s.getSnapshot("host", expression).artifact(t, "app-2"), "deployment_diff", "previous_running"); got != want {
				t.Errorf("in snapshot %s the predecessor runs: %v", expression, got)
			}
		})
	}
}

func TestSnapshotShowsTheStateOfAnArtifactInItsFlow(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("host", evidence.Server)
	s.reportFile("build", "app-1")
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/other", fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":"f","build_url":"b","commit_url":"","template_reference_name":"app","trail_name":"t"}`, evidence.HashAPIKey("app-1")))
	s.wantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.org+"/build/trail/trail-of-app-1/generic",
		`{"attestation_name":"scan","is_compliant":false,"artifact_fingerprint":"`+evidence.HashAPIKey("app-1")+`","user_data":{}}`)
	s.reportServer("host", "app-1")
	s.reportFile("build", "app-2")
	s.reportServer("host", "app-2")

	first := s.getSnapshot("host", "1").artifact(t, "app-1")
	if lookup(t, first, "flows", 0, "artifact_compliance_in_flow") != false || lookup(t, first, "flows", 1, "artifact_compliance_in_flow") != true {
		t.Errorf("its flows find it %v and %v", lookup(t, first, "flows", 0), lookup(t, first, "flows", 1))
	}
	if state := lookup(t, s.getSnapshot("host", "2").artifact(t, "app-2"), "deployment_diff", "previous_artifact_compliance_state"); state != "NON-COMPLIANT" {
		t.Errorf("the predecessor is %v", state)
	}
	// The record of the other flow has no commit.
	other := lookup(t, first, "flows", 1)
	if lookup(t, other, "git_commit") != evidence.NoCommit || lookup(t, other, "commit_url") != nil || lookup(t, other, "git_commit_info") != nil || lookup(t, other, "commit_lead_time") != nil {
		t.Errorf("a record without a commit is %v", other)
	}
}

func TestSnapshotsShowCurrentNames(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("host", evidence.Server)
	s.reportFile("build", "app-1")
	s.reportServer("host", "app-1")
	s.want(http.StatusOK, http.MethodPut, "/flows/"+s.org+"/build/rename", []byte(`{"new_name":"assembly"}`))
	s.renameEnvironment("host", "server")
	for _, name := range []string{"host", "server"} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			got := s.getSnapshot(name, "-1")
			if want := s.URL + "/" + s.org + "/environments/server/snapshots/1"; got.HTMLURL != want {
				t.Errorf("read as %s: html_url is %s, want %s", name, got.HTMLURL, want)
			}
			artifact := got.artifact(t, "app-1")
			if artifact["flow_name"] != "assembly" || !strings.HasPrefix(artifact["html_url"].(string), s.URL+"/"+s.org+"/flows/assembly/") {
				t.Errorf("the renamed flow shows as %v, %v", artifact["flow_name"], artifact["html_url"])
			}
		})
	}
}

// clientReadsSnapshot checks everything the client decodes of a snapshot.
func clientReadsSnapshot(t *testing.T, body any) {
	t.Helper()
	clientReads(t, "snapshot", body)
	for _, artifact := range clientReadsEach(t, "snapshot.artifact", lookup(t, body, "artifacts")) {
		clientReads(t, "snapshot.annotation", lookup(t, artifact, "annotation"))
		if commit := lookup(t, artifact, "git_commit"); commit != nil && commit != "" && len(commit.(string)) < 7 {
			t.Errorf("the client cannot shorten the commit %q", commit)
		}
		if times := lookup(t, artifact, "creationTimestamp").([]any); len(times) == 0 && lookup(t, artifact, "annotation", "now") != 0.0 {
			t.Errorf("a running artifact has no times: %s", asJSON(artifact))
		}
	}
}

func TestClientsDecodeSnapshots(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("host", evidence.Server)
	s.reportFile("build", "app-1")
	// A commit that is not a SHA.
	s.want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.org+"/build", fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":"f","git_commit_info":{"sha1":"v1"},"build_url":"b","commit_url":"c","template_reference_name":"odd","trail_name":"t"}`, evidence.HashAPIKey("odd")))
	s.reportServer("host", "app-1", "odd", "stranger")
	s.reportServer("host", "odd", "stranger")
	for _, expression := range []string{"1", "2"} {
		t.Run("snapshot "+expression, func(t *testing.T) {
			s := s.in(t)
			clientReadsSnapshot(t, s.read("/snapshots/"+s.org+"/host/"+expression))
		})
	}
	clientReadsEach(t, "snapshots_item", s.read("/snapshots/"+s.org+"/host?page=1&per_page=15&interval=&reverse=false"))
	diff := s.read("/env-diff/" + s.org + "?snappish1=host%231&snappish2=host")
	clientReads(t, "env_diff", diff)
	clientReadsEach(t, "env_diff.artifact", lookup(t, diff, "snappish1", "artifacts"))
	clientReadsEach(t, "env_diff.artifact", lookup(t, diff, "not-changed", "artifacts"))
}

// startCounting starts a service whose storage commands are counted. Unless the clock is stopped, caches may expire on
// a slow machine. A worker adds commands to those of the requests.
func startCounting(t *testing.T, o options) (*service, *storagetest.CountingDocuments) {
	t.Helper()
	var counting *storagetest.CountingDocuments
	o.wrap = func(docs storage.Documents) storage.Documents {
		counting = storagetest.NewCountingDocuments(docs)
		return counting
	}
	return start(t, o), counting
}

// fewestCommands returns the smallest number of commands of three requests: once a second a request also checks whether
// access rights have changed.
func fewestCommands(counting *storagetest.CountingDocuments, request func()) int {
	fewest := math.MaxInt
	for range 3 {
		counting.Reset()
		request()
		fewest = min(fewest, counting.Snapshot().Commands())
	}
	return fewest
}

// storeSnapshots stores one snapshot per minute until now, all with the same artifacts. Each artifact is of one of the
// flows.
func (s *service) storeSnapshots(environment string, snapshots, artifacts int, flows ...string) {
	s.t.Helper()
	id := s.environmentID(environment)
	running := make([]snapshot.Artifact, 0, artifacts)
	for i := range artifacts {
		running = append(running, snapshot.Artifact{
			Reported: snapshot.Reported{Fingerprint: fmt.Sprintf("%064x", i+1), Name: fmt.Sprint("image-", i), CreatedAt: []int64{1_789_000_000}}, Since: 1,
			Origins: []snapshot.Origin{{Origin: evidence.Origin{Flow: flows[i%len(flows)], Trail: "t", Slot: "s", Record: evidence.NewID()}}},
		})
	}
	tree := new(snapshot.Tree).Next(running)
	began := evidence.Seconds(s.clock.read().Add(-time.Duration(snapshots) * time.Minute))
	all := make([]snapshot.Snapshot, 0, snapshots)
	for i := range snapshots {
		all = append(all, snapshot.Snapshot{
			Org: s.orgID(), Environment: id, Number: int64(i + 1), Timestamp: began + 60*float64(i), Type: evidence.Server,
			Root: tree.Root, Counts: snapshot.Counts{Null: artifacts},
		})
	}
	var batch storage.Batch
	s.Process.Store.Snapshots.InsertIn(&batch, &all[0], tree.Chunks)
	for _, schema := range app.Schemas() {
		if schema.Name == "snapshots" {
			storage.NewCollection(s.Process.Store.Documents, schema,
				func(s *snapshot.Snapshot) string { return fmt.Sprint(s.Environment, "/", s.Number) },
				func(s *snapshot.Snapshot) map[string]any {
					return map[string]any{"environment": s.Environment, "number": s.Number, "time": s.Timestamp}
				}).AddIn(&batch, all[1:]...)
		}
	}
	s.must(batch.Write(s.t.Context(), s.Process.Store.Documents))
}

func TestReadingASnapshotCostsTheSameHoweverMuchThereIs(t *testing.T) {
	s, counting := startCounting(t, options{withoutWorker: true, stoppedAt: noonOf30March})
	s.reportFile("build", "app-1")
	flow := lookup(t, s.read("/flows/"+s.org+"/build"), "id").(string)
	s.createEnvironment("small", evidence.Server)
	s.createEnvironment("large", evidence.Server)
	snapshots, artifacts := scaled(2_500, 25_000), scaled(1_000, 10_000)
	s.storeSnapshots("small", 3, 10, flow)
	s.storeSnapshots("large", snapshots, artifacts, flow)
	commands := func(s *service, environment, expression string, artifacts int) int {
		s.t.Helper()
		counting.Reset()
		got := s.getSnapshot(environment, expression)
		if len(got.Artifacts) != artifacts || got.Artifacts[0]["flow_name"] != "build" {
			s.t.Fatalf("%s has %d artifacts", environment, len(got.Artifacts))
		}
		return counting.Snapshot().Commands()
	}
	few := commands(s, "small", "1", 10)
	// The tree of the large snapshot has a level or two more. Its chunks are cached.
	for _, expression := range []string{fmt.Sprint(snapshots), "1", fmt.Sprint(snapshots / 2), "-1", fmt.Sprintf("~%d", snapshots-1)} {
		t.Run(expression, func(t *testing.T) {
			if many := commands(s.in(t), "large", expression, artifacts); many > few+3 {
				t.Errorf("%d commands for snapshot %s of %d, %d for one of three", many, expression, snapshots, few)
			}
		})
	}
	// There is a snapshot per minute.
	if timed := commands(s, "large", fmt.Sprintf("@%%7B%d.hours.ago%%7D", snapshots/120), artifacts); timed > few+4 {
		t.Errorf("%d commands for a point in time", timed)
	}
}
