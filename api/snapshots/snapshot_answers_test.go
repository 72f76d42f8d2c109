package snapshots_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"attestry/api/apitest"
	"attestry/evidence"
)

func TestSnapshotsAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("host", evidence.Server)
	for n := range 5 {
		s.ReportServer("host", fmt.Sprint("version-", n))
	}
	apitest.Each(s, map[string][]int64{
		"":                                   {5, 4, 3, 2, 1},
		"?page=2&per_page=2":                 {3, 2},
		"?page=9&per_page=2":                 {},
		"?reverse=true&per_page=3":           {1, 2, 3},
		"?interval=2..4":                     {4, 3, 2},
		"?interval=~1..NOW":                  {5, 4},
		"?interval=&page=1&reverse=false":    {5, 4, 3, 2, 1},
		"?interval=2..&reverse=1&per_page=1": {2},
	}, func(s *apitest.Service, query string, want []int64) {
		var items []struct {
			Index              int64
			From, To, Duration float64
			Compliant          bool
		}
		s.Want(http.StatusOK, http.MethodGet, "/snapshots/"+s.Org+"/host"+query, nil).Decode(s.T, &items)
		got := []int64{}
		for _, item := range items {
			got = append(got, item.Index)
			if (item.To == 0) != (item.Index == 5) || item.Duration < 0 {
				s.T.Errorf("%+v", item)
			}
		}
		apitest.EqualList(s.T, got, want)
	})
}

// TestConcurrentReportsMakeASnapshotEach is for the race detector.
func TestConcurrentReportsMakeASnapshotEach(t *testing.T) {
	t.Parallel()
	const reports = 30
	s := apitest.Share(t)
	s.CreateEnvironment("busy", evidence.Server)
	var group sync.WaitGroup
	for n := range reports {
		group.Go(func() {
			got := s.Do(http.MethodPut, "/api/v2"+s.EnvironmentsPath()+"/busy/report/server", apitest.SnapshotterKey, apitest.ServerReport(fmt.Sprint(n)))
			if got.Status != http.StatusCreated && got.Status != http.StatusOK {
				t.Errorf("report %d: status %d: %s", n, got.Status, got.Body)
			}
		})
	}
	group.Wait()
	apitest.Eventually(t, "all reports are processed", func() bool {
		return s.Do(http.MethodGet, fmt.Sprintf("/api/v2/snapshots/%s/busy/%d", s.Org, reports), apitest.ReaderKey, nil).Status == http.StatusOK
	})
}

// renamed is a report of one image.
func renamed(name, digest string) string {
	return fmt.Sprintf(`{"artifacts":[{"digests":{%q:%q},"creationTimestamp":1632122962}]}`, name, digest)
}

// See docs/semantics.md 11.1 and 18.7.
func TestRepeatedReportIsEvaluatedByItsNameAfterAPolicyIsAttached(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.Docker)
	web := apitest.DigestOf("web")
	s.Report(http.StatusCreated, "prod", "docker", renamed("web:1", web))
	s.Report(http.StatusOK, "prod", "docker", renamed("ok:1", web))
	s.StorePolicy("names", `provenance: {required: true, exceptions: [{if: "${{ matches(artifact.name, '^ok') }}"}]}`)
	s.Attach("prod", "names")
	s.Report(http.StatusCreated, "prod", "docker", renamed("ok:1", web))
	s.Report(http.StatusOK, "prod", "docker", renamed("ok:1", web))
	last := s.GetSnapshot("prod", "-1")
	if one := last.Artifacts[0]; last.Index != 3 || one["compliant"] != true || one["name"] != "ok:1" {
		t.Errorf("snapshot %d has %v", last.Index, apitest.AsJSON(one))
	}
}

func TestPodsWithSeveralNamesOfAnImageAreListedOnce(t *testing.T) {
	t.Parallel()
	s := apitest.Share(t)
	s.CreateEnvironment("prod", evidence.K8S)
	web := apitest.DigestOf("web")
	s.Report(http.StatusCreated, "prod", "K8S", fmt.Sprintf(`{"artifacts":[
		{"podName":"web-0","namespace":"b","digests":{"web:1":%[1]q,"web:2":%[1]q},"creationTimestamp":5},
		{"podName":"web-0","namespace":"a","digests":{"web:2":%[1]q},"creationTimestamp":5}]}`, web))
	pods, _ := s.GetSnapshot("prod", "-1").Artifacts[0]["pods"].(map[string]any)
	apitest.EqualList(t, slices.Sorted(maps.Keys(pods)), []string{"a/web-0", "web-0"})
}

func TestExplanationSaysThatAPermissionWasReplacedSince(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t, apitest.Options{})
	s.CreateEnvironment("prod", evidence.Docker)
	s.StorePolicy("prov", "provenance: {required: true}")
	s.Attach("prod", "prov")
	s.Report(http.StatusCreated, "prod", "docker", renamed("web:1", evidence.HashAPIKey("web")))
	explained := func() string {
		t.Helper()
		text, _ := apitest.Lookup(t, s.Read("/snapshots/"+s.Org+"/prod/2?explain=true"), "artifacts", 0, "explanation", 0, "text").(string)
		return text
	}
	s.AllowArtifact("prod", "web", "the first reason")
	if got := explained(); !strings.Contains(got, "has allowed the artifact in environment 'prod' on ") || !strings.HasSuffix(got, "whatever policies say: the first reason") {
		t.Errorf("it says %q", got)
	}
	s.Clock.Advance(48 * time.Hour)
	s.AllowArtifact("prod", "web", "another reason")
	if got := explained(); !strings.HasPrefix(got, "The artifact was allowed in environment 'prod', whatever policies say. '") || !strings.Contains(got, "has replaced the permission since, on ") {
		t.Errorf("it says %q", got)
	}
}
