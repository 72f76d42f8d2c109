package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/scripts/fixturestest"
)

// snapshotBody has the members of a snapshot that tests read.
type snapshotBody struct {
	Index                   int64            `json:"index"`
	IsLatest                bool             `json:"is_latest"`
	NextSnapshotTimestamp   *float64         `json:"next_snapshot_timestamp"`
	ArtifactComplianceCount map[string]int   `json:"artifact_compliance_count"`
	Timestamp               float64          `json:"timestamp"`
	Type                    string           `json:"type"`
	Compliant               *bool            `json:"compliant"`
	HTMLURL                 string           `json:"html_url"`
	Artifacts               []map[string]any `json:"artifacts"`
}

func (s *service) getSnapshot(environment, expression string) snapshotBody {
	s.t.Helper()
	var body snapshotBody
	s.want(http.StatusOK, http.MethodGet, "/snapshots/"+s.org+"/"+environment+"/"+expression, nil).decode(s.t, &body)
	return body
}

func annotation(artifact map[string]any) string {
	return artifact["annotation"].(map[string]any)["type"].(string)
}

func (b snapshotBody) annotations() map[string][]string {
	named := map[string][]string{}
	for _, artifact := range b.Artifacts {
		named[annotation(artifact)] = append(named[annotation(artifact)], artifact["name"].(string))
	}
	return named
}

func TestRolloutBecomesTheSecondSnapshot(t *testing.T) {
	t.Parallel()
	s := shareOnAnyEngine(t)
	s.createEnvironment("prod", evidence.K8S)
	report := s.environmentsPath() + "/prod/report/K8S"
	if got := s.want(http.StatusCreated, http.MethodPut, report, fixturestest.Read("k8s-report-1.json")).text(t); got != "OK" {
		t.Errorf("the first report: %q", got)
	}
	if got := s.want(http.StatusOK, http.MethodPut, report, fixturestest.Read("k8s-report-1.json")).text(t); got != "report processed, no new snapshots to create" {
		t.Errorf("the same report: %q", got)
	}
	s.want(http.StatusCreated, http.MethodPut, report, fixturestest.Read("k8s-report-2-rollout.json"))

	first, second := s.getSnapshot("prod", "1"), s.getSnapshot("prod", "-1")
	if got := len(first.annotations()["started-unknown"]); got != len(first.Artifacts) || got == 0 {
		t.Errorf("%d of %d artifacts have started in snapshot 1", got, len(first.Artifacts))
	}
	got := second.annotations()
	if len(got["exited"]) != 2 || len(got["started-unknown"]) != 2 || len(got["unchanged"]) != len(first.Artifacts)-2 {
		t.Errorf("snapshot 2 is annotated %v", got)
	}
	for _, pair := range [][]string{got["exited"], got["started-unknown"]} {
		if repository(pair[0]) == repository(pair[1]) {
			t.Errorf("both artifacts are of one service: %v", pair)
		}
	}
	assertNeighbours(t, s, first, second)
	assertOrder(t, second)
	assertEvents(t, s, "prod", len(first.Artifacts)+4)
}

func repository(image string) string { return image[:strings.LastIndex(image, ":")] }

func assertNeighbours(t *testing.T, s *service, first, second snapshotBody) {
	t.Helper()
	if first.IsLatest || first.NextSnapshotTimestamp == nil || *first.NextSnapshotTimestamp != second.Timestamp {
		t.Errorf("snapshot 1 ends at %v, snapshot 2 begins at %f", first.NextSnapshotTimestamp, second.Timestamp)
	}
	if !second.IsLatest || second.NextSnapshotTimestamp != nil {
		t.Error("snapshot 2 is not the latest one")
	}
	if want := s.URL + "/" + s.org + "/environments/prod/snapshots/2"; second.HTMLURL != want {
		t.Errorf("html_url is %s, want %s", second.HTMLURL, want)
	}
	if want := (map[string]int{"true": 0, "false": 0, "null": len(first.Artifacts)}); !maps.Equal(second.ArtifactComplianceCount, want) {
		t.Errorf("counted %v, want %v", second.ArtifactComplianceCount, want)
	}
}

// assertOrder checks that started artifacts come first and exited ones last.
func assertOrder(t *testing.T, s snapshotBody) {
	t.Helper()
	rank := map[string]int{"started-unknown": 0, "unchanged": 1, "exited": 2}
	if !slices.IsSortedFunc(s.Artifacts, func(a, b map[string]any) int {
		return rank[annotation(a)] - rank[annotation(b)]
	}) {
		t.Errorf("artifacts are not in order: %v", s.annotations())
	}
}

func assertEvents(t *testing.T, s *service, environment string, want int) {
	t.Helper()
	events, err := s.Process.Store.Events.Between(t.Context(), s.environmentID(environment), 1, 1000, false)
	if err != nil || len(events) != want {
		t.Errorf("%d events, %v, want %d", len(events), err, want)
	}
}

// TestSnapshotHasTheDocumentedMembers compares with docs/semantics.md 11.2.
func TestSnapshotHasTheDocumentedMembers(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.K8S)
	s.want(http.StatusCreated, http.MethodPut, s.environmentsPath()+"/prod/report/K8S", fixturestest.Read("k8s-report-1.json"))
	var body map[string]any
	s.want(http.StatusOK, http.MethodGet, "/snapshots/"+s.org+"/prod/1", nil).decode(t, &body)
	assertKeys(t, "snapshot", body, "index", "is_latest", "next_snapshot_timestamp", "artifact_compliance_count",
		"timestamp", "type", "compliant", "html_url", "artifacts", "applied_policies")
	artifact := body["artifacts"].([]any)[0].(map[string]any)
	assertKeys(t, "artifact", artifact, "name", "compliant", "deployments", "policy_decisions", "reasons_for_incompliance",
		"fingerprint", "creationTimestamp", "pods", "annotation", "flow_name", "git_commit", "commit_url", "html_url",
		"flow_html_url", "deployment_diff", "commit_lead_time", "flows", "ecs_context")
	assertKeys(t, "annotation", artifact["annotation"].(map[string]any), "type", "was", "now")
	if body["compliant"] != false || artifact["compliant"] != nil {
		t.Errorf("without policies the snapshot is compliant %v, its artifact %v", body["compliant"], artifact["compliant"])
	}
	for name, pod := range artifact["pods"].(map[string]any) {
		assertKeys(t, "pod "+name, pod.(map[string]any), "namespace", "creationTimestamp", "owners")
	}
	if got := len(artifact["creationTimestamp"].([]any)); got != len(artifact["pods"].(map[string]any)) {
		t.Errorf("%d times for %d pods", got, len(artifact["pods"].(map[string]any)))
	}
}

func assertKeys(t *testing.T, what string, object map[string]any, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(object)); !slices.Equal(got, want) {
		t.Errorf("%s has %v, want %v", what, got, want)
	}
}

func TestSnapshotsAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("host", evidence.Server)
	for n := range 5 {
		s.reportServer("host", fmt.Sprint("version-", n))
	}
	for query, want := range map[string][]int64{
		"":                                   {5, 4, 3, 2, 1},
		"?page=2&per_page=2":                 {3, 2},
		"?page=9&per_page=2":                 {},
		"?reverse=true&per_page=3":           {1, 2, 3},
		"?interval=2..4":                     {4, 3, 2},
		"?interval=~1..NOW":                  {5, 4},
		"?interval=&page=1&reverse=false":    {5, 4, 3, 2, 1},
		"?interval=2..&reverse=1&per_page=1": {2},
	} {
		t.Run(s.caseName(query), func(t *testing.T) {
			s := s.in(t)
			var items []struct {
				Index              int64
				From, To, Duration float64
				Compliant          bool
			}
			s.want(http.StatusOK, http.MethodGet, "/snapshots/"+s.org+"/host"+query, nil).decode(t, &items)
			got := []int64{}
			for _, item := range items {
				got = append(got, item.Index)
				if (item.To == 0) != (item.Index == 5) || item.Duration < 0 {
					t.Errorf("%+v", item)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// reportServer reports the running files of a server environment and checks that this makes a snapshot.
func (s *service) reportServer(environment string, names ...string) {
	s.t.Helper()
	s.want(http.StatusCreated, http.MethodPut, s.environmentsPath()+"/"+environment+"/report/server", serverReport(names...))
}

// serverReport returns a server report with the named files.
func serverReport(names ...string) []byte {
	type artifact struct {
		Digests           map[string]string `json:"digests"`
		CreationTimestamp int64             `json:"creationTimestamp"`
	}
	artifacts := []artifact{}
	for _, name := range names {
		artifacts = append(artifacts, artifact{
			Digests:           map[string]string{"/opt/" + name: evidence.HashAPIKey(name)},
			CreationTimestamp: 1_788_990_000,
		})
	}
	body, err := json.Marshal(map[string]any{"type": "server", "artifacts": artifacts})
	if err != nil {
		panic(err)
	}
	return body
}

func TestConcurrentReportsOverHTTPEndInGaplessNumbers(t *testing.T) {
	t.Parallel()
	reports := scaled(100, 200)
	s := share(t)
	s.createEnvironment("busy", evidence.Docker)
	var group sync.WaitGroup
	for n := range reports {
		group.Go(func() {
			body := fmt.Appendf(nil, `{"artifacts":[{"digests":{"image:%d":"%064x"},"creationTimestamp":1789000000}]}`, n, n+1)
			got := s.do(http.MethodPut, "/api/v2/environments/"+s.org+"/busy/report/docker", snapshotterKey, body)
			if got.status != http.StatusCreated && got.status != http.StatusOK {
				t.Errorf("report %d: status %d: %s", n, got.status, got.body)
			}
		})
	}
	group.Wait()
	eventually(t, "all reports are processed", func() bool {
		return s.do(http.MethodGet, fmt.Sprintf("/api/v2/snapshots/%s/busy/%d", s.org, reports), adminKey, nil).status == http.StatusOK
	})
	seen := map[string]bool{}
	last := 0.0
	for n := range reports {
		snapshot := s.getSnapshot("busy", fmt.Sprint(n+1))
		started := snapshot.annotations()["started-unknown"]
		if len(started) != 1 || seen[started[0]] || snapshot.Timestamp <= last {
			t.Fatalf("snapshot %d at %f, after %f, started %v", n+1, snapshot.Timestamp, last, started)
		}
		seen[started[0]], last = true, snapshot.Timestamp
	}
	if got := s.do(http.MethodGet, fmt.Sprintf("/api/v2/snapshots/%s/busy/%d", s.org, reports+1), adminKey, nil); got.status != http.StatusNotFound {
		t.Errorf("snapshot %d: status %d", reports+1, got.status)
	}
}

// renamed is a report of one image.
func renamed(name, digest string) string {
	return fmt.Sprintf(`{"artifacts":[{"digests":{%q:%q},"creationTimestamp":1632122962}]}`, name, digest)
}

// See docs/semantics.md 11.1 and 18.7.
func TestRepeatedReportIsEvaluatedByItsNameAfterAPolicyIsAttached(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.Docker)
	web := digestOf("web")
	s.report(http.StatusCreated, "prod", "docker", renamed("web:1", web))
	s.report(http.StatusOK, "prod", "docker", renamed("ok:1", web))
	s.storePolicy("names", `provenance: {required: true, exceptions: [{if: "${{ matches(artifact.name, '^ok') }}"}]}`)
	s.attach("prod", "names")
	s.report(http.StatusCreated, "prod", "docker", renamed("ok:1", web))
	s.report(http.StatusOK, "prod", "docker", renamed("ok:1", web))
	last := s.getSnapshot("prod", "-1")
	if one := last.Artifacts[0]; last.Index != 3 || one["compliant"] != true || one["name"] != "ok:1" {
		t.Errorf("snapshot %d has %v", last.Index, asJSON(one))
	}
}

func TestPodsWithSeveralNamesOfAnImageAreListedOnce(t *testing.T) {
	t.Parallel()
	s := share(t)
	s.createEnvironment("prod", evidence.K8S)
	web := digestOf("web")
	s.report(http.StatusCreated, "prod", "K8S", fmt.Sprintf(`{"artifacts":[
		{"podName":"web-0","namespace":"b","digests":{"web:1":%[1]q,"web:2":%[1]q},"creationTimestamp":5},
		{"podName":"web-0","namespace":"a","digests":{"web:2":%[1]q},"creationTimestamp":5}]}`, web))
	pods, _ := s.getSnapshot("prod", "-1").Artifacts[0]["pods"].(map[string]any)
	if got := slices.Sorted(maps.Keys(pods)); !slices.Equal(got, []string{"a/web-0", "web-0"}) {
		t.Errorf("the pods are %q", got)
	}
}

func TestExplanationSaysThatAPermissionWasReplacedSince(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.createEnvironment("prod", evidence.Docker)
	s.storePolicy("prov", "provenance: {required: true}")
	s.attach("prod", "prov")
	s.report(http.StatusCreated, "prod", "docker", renamed("web:1", evidence.HashAPIKey("web")))
	explained := func() string {
		t.Helper()
		text, _ := lookup(t, s.read("/snapshots/"+s.org+"/prod/2?explain=true"), "artifacts", 0, "explanation", 0, "text").(string)
		return text
	}
	s.allowArtifact("prod", "web", "the first reason")
	if got := explained(); !strings.Contains(got, "has allowed the artifact in environment 'prod' on ") || !strings.HasSuffix(got, "whatever policies say: the first reason") {
		t.Errorf("it says %q", got)
	}
	s.clock.advance(48 * time.Hour)
	s.allowArtifact("prod", "web", "another reason")
	if got := explained(); !strings.HasPrefix(got, "The artifact was allowed in environment 'prod', whatever policies say. '") || !strings.Contains(got, "has replaced the permission since, on ") {
		t.Errorf("it says %q", got)
	}
}
