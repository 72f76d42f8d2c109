package snapshots_test

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/evidence"
)

func diff(s *apitest.Service, first, second string) any {
	s.T.Helper()
	return s.Read("/env-diff/" + s.Org + "?snappish1=" + url.QueryEscape(first) + "&snappish2=" + url.QueryEscape(second))
}

// namesInDiff lists the names of the artifacts in a part of a diff.
func namesInDiff(t *testing.T, diff any, part string) string {
	t.Helper()
	return strings.ReplaceAll(apitest.Column(t, apitest.Lookup(t, diff, part, "artifacts"), "name"), "/opt/", "")
}

// instancesReport is a server report with the given number of instances of each file, created one second apart.
func instancesReport(files map[string]int) []byte {
	var artifacts []string
	for name, count := range files {
		for i := range count {
			artifacts = append(artifacts, fmt.Sprintf(`{"digests":{"/opt/%s":"%s"},"creationTimestamp":%d}`, name, evidence.HashAPIKey(name), 1_788_000_000+i))
		}
	}
	return []byte(`{"type":"server","artifacts":[` + strings.Join(artifacts, ",") + `]}`)
}

func TestTwoEnvironmentsAreComparedByFingerprint(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("beta", evidence.Server)
	s.CreateEnvironment("prod", evidence.Server)
	s.ReportFile("build", "new")
	s.ReportFile("build", "same")
	s.ReportServer("beta", "gone")
	s.Want(http.StatusCreated, http.MethodPut, s.EnvironmentsPath()+"/beta/report/server", instancesReport(map[string]int{"arm": 1, "new": 2, "other": 1, "zip": 1, "same": 3, "scaled": 1}))
	s.Want(http.StatusCreated, http.MethodPut, s.EnvironmentsPath()+"/prod/report/server", instancesReport(map[string]int{"old": 1, "same": 3, "scaled": 4}))

	entry := func(name string, count int, flow string) map[string]any {
		info := map[string]any{
			"fingerprint": evidence.HashAPIKey(name), "name": "/opt/" + name, "flow": flow,
			"most_recent_timestamp": float64(1_788_000_000 + count - 1), "instance_count": float64(count),
		}
		if flow != "" {
			info["commit_url"] = "https://github.com/acme/" + flow + "/commit/" + apitest.CommitOf(name)
		}
		return info
	}
	scaled := entry("scaled", 4, "")
	delete(scaled, "instance_count")
	scaled["s1_instance_count"], scaled["s2_instance_count"] = 1.0, 4.0
	want := map[string]any{
		"snappish1":   map[string]any{"snapshot_id": "beta#2", "artifacts": []any{entry("arm", 1, ""), entry("new", 2, "build"), entry("other", 1, ""), entry("zip", 1, "")}},
		"snappish2":   map[string]any{"snapshot_id": "prod#1", "artifacts": []any{entry("old", 1, "")}},
		"changed":     map[string]any{"artifacts": []any{scaled}},
		"not-changed": map[string]any{"artifacts": []any{entry("same", 3, "build")}},
	}
	if got := diff(s, "beta", "prod"); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%v, want\n%v", got, want)
	}
}

func TestTwoSnapshotsOfOneEnvironmentAreCompared(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{StoppedAt: apitest.NoonOf30March})
	s.CreateEnvironment("host", evidence.Server)
	s.ReportServer("host", "a", "b")
	s.Clock.Advance(24 * time.Hour)
	s.ReportServer("host", "b", "c")
	s.Clock.Advance(24 * time.Hour)
	s.ReportServer("host")
	for _, c := range []struct{ first, second, onlyFirst, onlySecond, same, ids string }{
		{"host#1", "host#2", "a", "c", "b", "host#1 host#2"},
		{"host~1", "host~2", "c", "a", "b", "host#2 host#1"},
		{"host@{2.days.ago}", "host@{1.day.ago}", "a", "c", "b", "host#1 host#2"},
		{"host#2", "host", "b c", "", "", "host#2 host#3"},
		{"host@{now}", "host#-2", "", "b c", "", "host#3 host#2"},
		{"host#1", "host@{2026-03-30T13:00:00}", "", "", "a b", "host#1 host#1"},
		{"host", "host", "", "", "", "host#3 host#3"},
	} {
		t.Run(c.first+" and "+c.second, func(t *testing.T) {
			s := s.In(t)
			got := diff(s, c.first, c.second)
			ids := fmt.Sprint(apitest.Lookup(t, got, "snappish1", "snapshot_id"), " ", apitest.Lookup(t, got, "snappish2", "snapshot_id"))
			if namesInDiff(t, got, "snappish1") != c.onlyFirst || namesInDiff(t, got, "snappish2") != c.onlySecond ||
				namesInDiff(t, got, "not-changed") != c.same || namesInDiff(t, got, "changed") != "" || ids != c.ids {
				t.Errorf("%s and %s: %v", c.first, c.second, got)
			}
		})
	}
}

func TestEnvironmentsOfDifferentTypesAreComparedWithTheirPods(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("cluster", evidence.K8S)
	s.CreateEnvironment("host", evidence.Docker)
	pod := func(name string, at int) string {
		return fmt.Sprintf(`{"digests":{"app:1":"%s"},"creationTimestamp":%d,"podName":%q,"namespace":"n","owners":null}`, evidence.HashAPIKey("app"), at, name)
	}
	s.Want(http.StatusCreated, http.MethodPut, s.EnvironmentsPath()+"/cluster/report/K8S",
		[]byte(`{"type":"K8S","artifacts":[`+pod("pod-b", 1_788_000_005)+`,`+pod("pod-a", 1_788_000_000)+`]}`))
	s.Want(http.StatusCreated, http.MethodPut, s.EnvironmentsPath()+"/host/report/docker",
		fmt.Appendf(nil, `{"artifacts":[{"digests":{"app:latest":"%s"},"creationTimestamp":1788000001}]}`, evidence.HashAPIKey("app")))
	want := map[string]any{
		"fingerprint": evidence.HashAPIKey("app"), "name": "app:latest", "flow": "", "most_recent_timestamp": 1_788_000_005.0,
		"s1_instance_count": 2.0, "s2_instance_count": 1.0, "pods": []any{"pod-a", "pod-b"},
	}
	if got := apitest.Lookup(t, diff(s, "cluster", "host"), "changed", "artifacts", 0); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestDiffShowsCurrentNames(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("host", evidence.Server)
	s.ReportFile("build", "a")
	s.ReportServer("host", "a")
	s.RenameEnvironment("host", "server")
	s.Want(http.StatusOK, http.MethodPut, "/flows/"+s.Org+"/build/rename", []byte(`{"new_name":"assembly"}`))
	got := diff(s, "host", "server")
	if apitest.Lookup(t, got, "snappish1", "snapshot_id") != "server#1" || apitest.Lookup(t, got, "not-changed", "artifacts", 0, "flow") != "assembly" {
		t.Errorf("got %v", got)
	}
}

func TestBadDiffsAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("host", evidence.Server)
	s.CreateEnvironment("empty", evidence.Server)
	s.ReportServer("host", "a")
	wantError := func(s *apitest.Service, status int, message, first, second string) {
		s.T.Helper()
		s.WantError(status, message, http.MethodGet, "/env-diff/"+s.Org+"?snappish1="+url.QueryEscape(first)+"&snappish2="+url.QueryEscape(second), "")
	}
	for _, bad := range []string{"", "#1", "~0", "@{now}", "host#1~1", "host~1@{now}", "host##1", "host#", "host#five", "host@{0.days.ago}", "host@now", "host#99999999999999999999"} {
		t.Run("bad "+bad, func(t *testing.T) {
			s := s.In(t)
			wantError(s, http.StatusBadRequest, "Bad snappish "+bad, bad, "host")
			wantError(s, http.StatusBadRequest, "Bad snappish "+bad, "host", bad)
			// Both expressions are parsed before either is looked up.
			wantError(s, http.StatusBadRequest, "Bad snappish "+bad, "none", bad)
		})
	}
	unknown := "Environment named 'none' does not exist for organization '" + s.Org + "'"
	wantError(s, http.StatusNotFound, unknown, "none#1", "host")
	wantError(s, http.StatusNotFound, unknown, "host", "none")
	const based = ". Indexes are 1-based"
	wantError(s, http.StatusNotFound, "Org: '"+s.Org+"'. Snapshot 'empty' resolves to 'empty#0'. len(snapshots) == 0"+based, "empty", "host")
	wantError(s, http.StatusNotFound, "Org: '"+s.Org+"'. Snapshot 'empty@{now}' resolves to 'empty#0'. len(snapshots) == 0"+based, "host", "empty@{now}")
	wantError(s, http.StatusNotFound, "Org: '"+s.Org+"'. Snapshot 'host#23' resolves to 'host#23'. len(snapshots) == 1"+based, "host#23", "host")
	wantError(s, http.StatusNotFound, "Org: '"+s.Org+"'. Snapshot 'host~3' resolves to 'host#-2'. len(snapshots) == 1"+based, "host", "host~3")
	// A single snapshot is found in the same way.
	path := "/snapshots/" + s.Org + "/empty/"
	for expression, shown := range map[string]string{
		"-1":    "empty#-1' resolves to 'empty#0",
		"%2323": "empty#23' resolves to 'empty#23",
		"~2":    "empty~2' resolves to 'empty#-2",
	} {
		message := "Org: '" + s.Org + "'. Snapshot '" + shown + "'. len(snapshots) == 0" + based
		s.WantError(http.StatusNotFound, message, http.MethodGet, path+expression, "")
	}
	s.WantError(http.StatusBadRequest, "Bad snappish five", http.MethodGet, path+"five", "")
	s.WantError(http.StatusNotFound, "The requested path does not exist", http.MethodGet, path+"../none/1", "")
}

func TestDiffCostsTheSameForAnyNumberOfArtifacts(t *testing.T) {
	s, counting := apitest.StartCounting(t, apitest.Options{WithoutWorker: true, StoppedAt: apitest.NoonOf30March})
	s.ReportFile("build", "a")
	flow := apitest.Lookup(t, s.Read("/flows/"+s.Org+"/build"), "id").(string)
	commands := func(environment string, artifacts int) int {
		t.Helper()
		s.CreateEnvironment(environment, evidence.Server)
		storeSnapshots(s, environment, 2, artifacts, flow)
		counting.Reset()
		got := diff(s, environment+"#1", environment)
		if same := apitest.Lookup(t, got, "not-changed", "artifacts").([]any); len(same) != artifacts || apitest.Lookup(t, same[0], "flow") != "build" {
			t.Errorf("%d of %d artifacts are the same", len(same), artifacts)
		}
		return counting.Snapshot().Commands()
	}
	if few, many := commands("small", 10), commands("large", 10_000); many > few+3 {
		t.Errorf("%d commands for 10,000 artifacts, %d for ten", many, few)
	}
}
