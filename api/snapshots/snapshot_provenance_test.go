package snapshots_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
)

// artifactID returns the id of an artifact's newest record in a flow.
func artifactID(s *apitest.Service, flow, file string) string {
	s.T.Helper()
	return apitest.Lookup(s.T, s.Read("/artifacts/"+s.Org+"/"+flow+"/fingerprint/"+evidence.HashAPIKey(file)), "id").(string)
}

// TestSnapshotShowsProvenance compares what snapshots show of flows with docs/semantics.md 11.3.
func TestSnapshotShowsProvenance(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Real: true, StoppedAt: apitest.NoonOf30March})
	s.CreateEnvironment("host", evidence.Server)
	s.ReportFile("build", "app-1")
	s.ReportServer("host", "app-1", "stranger")
	s.Clock.Advance(time.Hour)
	s.ReportFile("build", "app-2")
	s.Clock.Advance(time.Minute)
	s.ReportFile("promotion", "app-2")
	s.Clock.Advance(time.Minute)
	s.ReportServer("host", "app-2", "stranger")

	second := s.GetSnapshot("host", "2")
	started, commit := second.Artifact(t, "app-2"), apitest.CommitOf("app-2")
	committed := float64(apitest.NoonOf30March.Unix())
	page := s.URL + "/" + s.Org + "/flows/build/artifacts/" + evidence.HashAPIKey("app-2") + "?artifact_id=" + artifactID(s, "build", "app-2")
	want := map[string]any{
		"flow_name": "build", "trail_name": "trail-of-app-2", "template_reference_name": "app",
		"git_commit": commit, "commit_url": "https://github.com/acme/build/commit/" + commit,
		"git_commit_info": map[string]any{
			"sha1": commit, "message": "Change app-2", "author": "A. Person <person@example.com>", "branch": "main",
			"timestamp": committed, "url": "https://github.com/acme/build/commit/" + commit,
		},
		"html_url": page, "flow_html_url": s.URL + "/" + s.Org + "/flows/build",
		"deployment_diff": map[string]any{
			"diff_url":                           "https://github.com/acme/build/compare/" + apitest.CommitOf("app-1") + "..." + commit,
			"previous_git_commit":                apitest.CommitOf("app-1"),
			"previous_fingerprint":               evidence.HashAPIKey("app-1"),
			"previous_artifact_name":             "/opt/app-1",
			"previous_artifact_compliance_state": "COMPLIANT",
			"previous_running":                   false,
			"previous_git_commit_url":            "https://github.com/acme/build/commit/" + apitest.CommitOf("app-1"),
			"previous_trail_name":                "trail-of-app-1",
			"previous_template_reference_name":   "app",
		},
		"commit_lead_time": evidence.RoundSeconds(second.Timestamp - committed), "artifact_compliance_in_flow": true, "flow_reasons_for_non_compliance": []any{},
	}
	if got := apitest.Lookup(t, started, "flows", 0); !reflect.DeepEqual(got, want) {
		t.Errorf("the build flow is\n%v, want\n%v", got, want)
	}
	for _, member := range []string{"flow_name", "git_commit", "commit_url", "html_url", "flow_html_url", "deployment_diff", "commit_lead_time"} {
		if !reflect.DeepEqual(started[member], want[member]) {
			t.Errorf("%s of the artifact is %v, not that of its first flow", member, started[member])
		}
	}
	promotion := apitest.Lookup(t, started, "flows", 1)
	if apitest.Lookup(t, promotion, "flow_name") != "promotion" || apitest.Lookup(t, promotion, "deployment_diff") != nil || len(started["flows"].([]any)) != 2 {
		t.Errorf("the other flow is %v", promotion)
	}
	if exited := second.Artifact(t, "app-1"); apitest.Annotation(exited) != "exited" || exited["flow_name"] != "build" || exited["deployment_diff"] != nil {
		t.Errorf("the exited artifact is %v", exited)
	}
	stranger := second.Artifact(t, "stranger")
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
	s := apitest.Share(t)
	s.CreateEnvironment("host", evidence.Server)
	s.ReportFile("build", "app-1")
	s.ReportServer("host", "app-1")
	s.ReportFile("build", "app-2")
	s.ReportServer("host", "app-1", "app-2")
	s.ReportServer("host", "app-2")
	for expression, want := range map[string]bool{"2": true, "3": false} {
		t.Run("snapshot "+expression, func(t *testing.T) {
			s := s.In(t)
			if got := apitest.Lookup(t, s.GetSnapshot("host", expression).Artifact(t, "app-2"), "deployment_diff", "previous_running"); got != want {
				t.Errorf("in snapshot %s the predecessor runs: %v", expression, got)
			}
		})
	}
}

func TestSnapshotShowsTheStateOfAnArtifactInItsFlow(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("host", evidence.Server)
	s.ReportFile("build", "app-1")
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/other", fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":"f","build_url":"b","commit_url":"","template_reference_name":"app","trail_name":"t"}`, evidence.HashAPIKey("app-1")))
	s.WantForm(http.StatusCreated, http.MethodPost, "/attestations/"+s.Org+"/build/trail/trail-of-app-1/generic",
		`{"attestation_name":"scan","is_compliant":false,"artifact_fingerprint":"`+evidence.HashAPIKey("app-1")+`","user_data":{}}`)
	s.ReportServer("host", "app-1")
	s.ReportFile("build", "app-2")
	s.ReportServer("host", "app-2")

	first := s.GetSnapshot("host", "1").Artifact(t, "app-1")
	if apitest.Lookup(t, first, "flows", 0, "artifact_compliance_in_flow") != false || apitest.Lookup(t, first, "flows", 1, "artifact_compliance_in_flow") != true {
		t.Errorf("its flows find it %v and %v", apitest.Lookup(t, first, "flows", 0), apitest.Lookup(t, first, "flows", 1))
	}
	if state := apitest.Lookup(t, s.GetSnapshot("host", "2").Artifact(t, "app-2"), "deployment_diff", "previous_artifact_compliance_state"); state != "NON-COMPLIANT" {
		t.Errorf("the predecessor is %v", state)
	}
	// The record of the other flow has no commit.
	other := apitest.Lookup(t, first, "flows", 1)
	if apitest.Lookup(t, other, "git_commit") != evidence.NoCommit || apitest.Lookup(t, other, "commit_url") != nil || apitest.Lookup(t, other, "git_commit_info") != nil || apitest.Lookup(t, other, "commit_lead_time") != nil {
		t.Errorf("a record without a commit is %v", other)
	}
}

func TestSnapshotsShowCurrentNames(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("host", evidence.Server)
	s.ReportFile("build", "app-1")
	s.ReportServer("host", "app-1")
	s.Want(http.StatusOK, http.MethodPut, "/flows/"+s.Org+"/build/rename", []byte(`{"new_name":"assembly"}`))
	s.RenameEnvironment("host", "server")
	apitest.EachOf(s, []string{"host", "server"}, func(s *apitest.Service, name string) {
		got := s.GetSnapshot(name, "-1")
		if want := s.URL + "/" + s.Org + "/environments/server/snapshots/1"; got.HTMLURL != want {
			s.T.Errorf("read as %s: html_url is %s, want %s", name, got.HTMLURL, want)
		}
		artifact := got.Artifact(s.T, "app-1")
		if artifact["flow_name"] != "assembly" ||
			!strings.HasPrefix(artifact["html_url"].(string), s.URL+"/"+s.Org+"/flows/assembly/") {
			s.T.Errorf("the renamed flow shows as %v, %v", artifact["flow_name"], artifact["html_url"])
		}
	})
}

// clientReadsSnapshot checks everything the client decodes of a snapshot.
func clientReadsSnapshot(t *testing.T, body any) {
	t.Helper()
	apitest.ClientReads(t, "snapshot", body)
	for _, artifact := range apitest.ClientReadsEach(t, "snapshot.artifact", apitest.Lookup(t, body, "artifacts")) {
		apitest.ClientReads(t, "snapshot.annotation", apitest.Lookup(t, artifact, "annotation"))
		if commit := apitest.Lookup(t, artifact, "git_commit"); commit != nil && commit != "" && len(commit.(string)) < 7 {
			t.Errorf("the client cannot shorten the commit %q", commit)
		}
		if times := apitest.Lookup(t, artifact, "creationTimestamp").([]any); len(times) == 0 && apitest.Lookup(t, artifact, "annotation", "now") != 0.0 {
			t.Errorf("a running artifact has no times: %s", apitest.AsJSON(artifact))
		}
	}
}

func TestClientsDecodeSnapshots(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("host", evidence.Server)
	s.ReportFile("build", "app-1")
	// A commit that is not a SHA.
	s.Want(http.StatusCreated, http.MethodPost, "/artifacts/"+s.Org+"/build", fmt.Appendf(nil,
		`{"fingerprint":%q,"filename":"f","git_commit_info":{"sha1":"v1"},"build_url":"b","commit_url":"c","template_reference_name":"odd","trail_name":"t"}`, evidence.HashAPIKey("odd")))
	s.ReportServer("host", "app-1", "odd", "stranger")
	s.ReportServer("host", "odd", "stranger")
	for _, expression := range []string{"1", "2"} {
		t.Run("snapshot "+expression, func(t *testing.T) {
			s := s.In(t)
			clientReadsSnapshot(t, s.Read("/snapshots/"+s.Org+"/host/"+expression))
		})
	}
	apitest.ClientReadsEach(t, "snapshots_item", s.Read("/snapshots/"+s.Org+"/host?page=1&per_page=15&interval=&reverse=false"))
	diff := s.Read("/env-diff/" + s.Org + "?snappish1=host%231&snappish2=host")
	apitest.ClientReads(t, "env_diff", diff)
	apitest.ClientReadsEach(t, "env_diff.artifact", apitest.Lookup(t, diff, "snappish1", "artifacts"))
	apitest.ClientReadsEach(t, "env_diff.artifact", apitest.Lookup(t, diff, "not-changed", "artifacts"))
}

// storeSnapshots stores one snapshot per minute until now, all with the same artifacts. Each artifact is of one of the
// flows.
func storeSnapshots(s *apitest.Service, environment string, snapshots, artifacts int, flows ...string) {
	s.T.Helper()
	id := s.EnvironmentID(environment)
	running := make([]snapshot.Artifact, 0, artifacts)
	for i := range artifacts {
		running = append(running, snapshot.Artifact{
			Reported: snapshot.Reported{Fingerprint: fmt.Sprintf("%064x", i+1), Name: fmt.Sprint("image-", i), CreatedAt: []int64{1_789_000_000}}, Since: 1,
			Origins: []snapshot.Origin{{Origin: evidence.Origin{Flow: flows[i%len(flows)], Trail: "t", Slot: "s", Record: evidence.NewID()}}},
		})
	}
	tree := new(snapshot.Tree).Next(running)
	began := evidence.Seconds(s.Clock.Read().Add(-time.Duration(snapshots) * time.Minute))
	all := make([]snapshot.Snapshot, 0, snapshots)
	for i := range snapshots {
		all = append(all, snapshot.Snapshot{
			Org: s.OrgID(), Environment: id, Number: int64(i + 1), Timestamp: began + 60*float64(i), Type: evidence.Server,
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
	s.Must(batch.Write(s.T.Context(), s.Process.Store.Documents))
}

func TestReadingASnapshotCostsTheSameHoweverMuchThereIs(t *testing.T) {
	s, counting := apitest.StartCounting(t, apitest.Options{WithoutWorker: true, StoppedAt: apitest.NoonOf30March})
	s.ReportFile("build", "app-1")
	flow := apitest.Lookup(t, s.Read("/flows/"+s.Org+"/build"), "id").(string)
	s.CreateEnvironment("small", evidence.Server)
	s.CreateEnvironment("large", evidence.Server)
	snapshots, artifacts := apitest.Scaled(2_500, 25_000), apitest.Scaled(1_000, 10_000)
	storeSnapshots(s, "small", 3, 10, flow)
	storeSnapshots(s, "large", snapshots, artifacts, flow)
	commands := func(s *apitest.Service, environment, expression string, artifacts int) int {
		s.T.Helper()
		counting.Reset()
		got := s.GetSnapshot(environment, expression)
		if len(got.Artifacts) != artifacts || got.Artifacts[0]["flow_name"] != "build" {
			s.T.Fatalf("%s has %d artifacts", environment, len(got.Artifacts))
		}
		return counting.Snapshot().Commands()
	}
	few := commands(s, "small", "1", 10)
	// The tree of the large snapshot has a level or two more. Its chunks are cached.
	for _, expression := range []string{fmt.Sprint(snapshots), "1", fmt.Sprint(snapshots / 2), "-1", fmt.Sprintf("~%d", snapshots-1)} {
		t.Run(expression, func(t *testing.T) {
			if many := commands(s.In(t), "large", expression, artifacts); many > few+3 {
				t.Errorf("%d commands for snapshot %s of %d, %d for one of three", many, expression, snapshots, few)
			}
		})
	}
	// There is a snapshot per minute.
	if timed := commands(s, "large", fmt.Sprintf("@%%7B%d.hours.ago%%7D", snapshots/120), artifacts); timed > few+4 {
		t.Errorf("%d commands for a point in time", timed)
	}
}
