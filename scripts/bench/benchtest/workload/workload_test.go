package workload

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"attestry/api/snapshots"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/snapshot"
	"attestry/scripts/bench/benchtest/baseline"
	"attestry/scripts/bench/benchtest/measure"
)

// shortest is a duration in which each client sends one request per round.
const shortest = time.Microsecond

func TestEveryKindOfWorkloadIsMeasured(t *testing.T) {
	fewSnapshots := map[string]kind{
		"get snapshot -1 of 1000, {size} artifacts known to two flows":  {seeds: []seed{seedImages, seedHistory(4)}},
		"get snapshot 500 of 1000, {size} artifacts known to two flows": {seeds: []seed{seedImages, seedHistory(4)}, setup: get("/snapshots/{org}/{history}/2")},
		"env-diff of snapshots 1000 apart, {size} artifacts": {
			seeds: []seed{seedHistory(6)}, setup: get("/env-diff/{org}?snappish1={history}%231&snappish2={history}%236"),
		},
		"page {size} of events": {seeds: []seed{seedEvents(20, 3)}},
	}
	shared := openFixtureOf(t)
	for _, k := range kinds {
		if few, ok := fewSnapshots[k.name]; ok {
			k.seeds = few.seeds
			if few.setup != nil {
				k.setup = few.setup
			}
			delete(fewSnapshots, k.name)
		}
		largest := k.variants[len(k.variants)-1]
		w := Workload{k, variant{size: min(largest.size, 6), clients: min(largest.clients, 2)}}
		t.Run(w.Name(), func(t *testing.T) {
			if testing.Short() && (strings.HasPrefix(k.name, "event told") || strings.Contains(k.name, "package")) {
				t.Skip("waits for the relay of notifications or packages again and again")
			}
			f := *shared
			f.scope = evidence.NewID()
			got, err := w.run(t.Context(), &f, shortest)
			evidencetest.Must(t, err)
			for side, figures := range map[string]measure.Summary{"service": got.Service, "baseline": got.Baseline} {
				// With beside, the service gets more requests, until beside returns.
				enough, more := measure.Rounds*w.clients, w.beside != nil && side == "service"
				if figures.Count < enough || figures.Count > enough && !more || figures.PerSecond <= 0 || figures.P50 <= 0 || figures.P99 < figures.P50 {
					t.Errorf("%s: %+v", side, figures)
				}
			}
			if reads := w.baseline == baseline.BytesPath; reads != (got.AnswerBytes >= 300) {
				t.Errorf("answers have %d bytes", got.AnswerBytes)
			}
			if got.Name != w.Name() || got.Size != w.size || got.Clients != w.clients || got.Ratio.Overall <= 0 {
				t.Errorf("got %+v", got)
			}
		})
	}
	for name := range fewSnapshots {
		t.Errorf("no workload is named %s", name)
	}
}

func TestWorkloadsOfASeriesAreOrderedBySize(t *testing.T) {
	names, sizes := map[string]bool{}, map[string]int{}
	for _, w := range All() {
		if names[w.Name()] {
			t.Errorf("two workloads are named %s", w.Name())
		}
		if last, ok := sizes[w.series()]; ok && last >= w.size {
			t.Errorf("%s comes after size %d", w.Name(), last)
		}
		names[w.Name()], sizes[w.series()] = true, w.size
	}
}

func TestRunFailsOnAnUnexpectedAnswer(t *testing.T) {
	w := Workload{kind{name: "wrong", baseline: baseline.ReportPath, setup: func(c *client) (service, baseline requests, err error) {
		return c.reports("cluster", c.scope, 3, change{func(*report) {}, created})
	}}, variant{clients: 1}}
	_, err := w.Run(t.Context(), Engines{}, t.TempDir(), shortest)
	if err == nil || !strings.Contains(err.Error(), "no new snapshots") {
		t.Errorf("got %v", err)
	}
}

// openFixtureOf opens a fixture until the test ends.
func openFixtureOf(t *testing.T) *fixture {
	t.Helper()
	f, err := openFixture(t.Context(), Engines{}, t.TempDir(), true)
	evidencetest.Must(t, err)
	t.Cleanup(func() {
		evidencetest.Check(t, f.close())
	})
	return f
}

func TestSeededImagesAreShownWithTwoFlows(t *testing.T) {
	f := openFixtureOf(t)
	for _, seed := range []seed{seedImages, seedHistory(3)} {
		evidencetest.Must(t, seed(t.Context(), f, 8))
	}
	got, err := newConnection(f.address, f.key).send(request{
		method: http.MethodGet, path: f.path("/snapshots/{org}/{history}/-1"), want: answer{status: http.StatusOK},
	})
	evidencetest.Must(t, err)
	var shown struct {
		Index     int64
		Artifacts []snapshots.SnapshotArtifact
	}
	evidencetest.Must(t, json.Unmarshal([]byte(got.body), &shown))
	differences := 0
	for _, artifact := range shown.Artifacts {
		if len(artifact.Flows) != 2 || artifact.CommitLeadTime == nil || artifact.CommitURL == nil {
			t.Errorf("%s has the flows %+v", artifact.Name, artifact.Flows)
		}
		if artifact.DeploymentDiff.Value != nil {
			differences++
		}
	}
	// Two images run in their second version. The snapshot also shows the image that was replaced last.
	if shown.Index != 3 || len(shown.Artifacts) != 9 || differences != 2 {
		t.Errorf("snapshot %d has %d artifacts, of which %d have a predecessor", shown.Index, len(shown.Artifacts), differences)
	}
}

func TestHistoryFailsWhenAReportMakesNoSnapshot(t *testing.T) {
	f := openFixtureOf(t)
	unchanged := func([]snapshot.Instance, int) {}
	if err := f.createHistory(t.Context(), 8, 2, unchanged); err == nil {
		t.Error("an unchanged report counts as a snapshot")
	}
}

func TestBaselineRefusesInvalidReports(t *testing.T) {
	s, err := baseline.Start()
	evidencetest.Must(t, err)
	t.Cleanup(func() {
		evidencetest.Check(t, s.Close())
	})
	_, err = newConnection(s.Address, "").send(request{
		method: http.MethodPut, path: baseline.ReportPath, body: []byte(`{"artifacts":[],"Type":"K8S"}`),
		want: answer{status: http.StatusBadRequest},
	})
	evidencetest.Check(t, err)
}
