package workload

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/api/environments"
	"attestry/scripts/bench/baseline"
	"attestry/scripts/bench/measure"
)

// fast asks for no more than each row's least: one operation per client and turn.
const fast = time.Microsecond

func TestEveryKindOfRowIsMeasuredOnBothSides(t *testing.T) {
	rows := slices.Concat(
		reportRows(unchangedReport, 40, 1, 2), reportRows(changedReport, 40, 1, 2), fleetRows(8, 3, 2),
		[]Row{snapshotRow(20), diffRow(20, 5)}, momentRows(4, 20), eventRows(2),
	)
	for _, r := range rows {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			got, err := Play(t.Context(), r, Engines{}, t.TempDir(), fast)
			if err != nil {
				t.Fatal(err)
			}
			for side, figures := range map[string]measure.Summary{"service": got.Service, "baseline": got.Baseline} {
				if figures.Count != measure.Rounds*r.clients || figures.PerSecond <= 0 || figures.P50 <= 0 || figures.P99 < figures.P50 {
					t.Errorf("%s: %+v", side, figures)
				}
			}
			if strings.HasPrefix(r.Name, "get") && got.AnswerBytes < 1_000 {
				t.Errorf("the answer has %d bytes", got.AnswerBytes)
			}
			if got.Name != r.Name || got.Clients != r.clients || got.Ratio.Overall <= 0 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestRowFailsOnAnAnswerThatIsNotTheWantedOne(t *testing.T) {
	r := Row{Name: "wrong", clients: 1, prepare: func(s *stage, _ int) (measure.Client, error) {
		sent, err := newReport(s.scope, 3)
		if err != nil {
			return measure.Client{}, err
		}
		return prepareCluster(s, "cluster", sent, func(*report) {}, created)
	}}
	_, err := Play(t.Context(), r, Engines{}, t.TempDir(), fast)
	if err == nil || !strings.Contains(err.Error(), "no new snapshots") {
		t.Errorf("got %v", err)
	}
}

func TestReplacingChangesOneFingerprint(t *testing.T) {
	r, err := newReport("seed", 50)
	if err != nil {
		t.Fatal(err)
	}
	seen := fingerprints(t, r)
	if len(seen) != 50 {
		t.Fatalf("%d images", len(seen))
	}
	for range 120 {
		r.replace()
		now := fingerprints(t, r)
		fresh := slices.DeleteFunc(slices.Clone(now), func(f environments.Fingerprint) bool { return slices.Contains(seen, f) })
		if len(now) != 50 || len(fresh) != 1 {
			t.Fatalf("%d images, %d of them never seen", len(now), len(fresh))
		}
		seen = append(seen, fresh...)
	}
}

func TestRollingChangesOneFingerprintBetweenTwoVersions(t *testing.T) {
	r, err := newReport("seed", 4)
	if err != nil {
		t.Fatal(err)
	}
	r.offset = 3
	first := fingerprints(t, r)
	before := first
	for turn := range 16 {
		r.roll()
		now := fingerprints(t, r)
		fresh := slices.DeleteFunc(slices.Clone(now), func(f environments.Fingerprint) bool { return slices.Contains(before, f) })
		if len(now) != 4 || len(fresh) != 1 {
			t.Fatalf("turn %d: %d images, %d others than before", turn, len(now), len(fresh))
		}
		if i := (3 + turn) % 4; fresh[0] != environments.Fingerprint(digest("seed", secondVersion, i)) && fresh[0] != environments.Fingerprint(digest("seed", firstVersion, i)) {
			t.Errorf("turn %d: an image that no flow knows", turn)
		}
		before = now
	}
	if !slices.Equal(before, first) {
		t.Errorf("after four rounds run %v, not %v", before, first)
	}
}

func TestCloneChangesByItself(t *testing.T) {
	r, err := newReport("seed", 4)
	if err != nil {
		t.Fatal(err)
	}
	before := fingerprints(t, r)
	r.clone().roll()
	if !slices.Equal(fingerprints(t, r), before) {
		t.Error("the report has changed with its clone")
	}
}

func TestKnownImagesAreShownWithTwoFlows(t *testing.T) {
	s, err := openStage(t.Context(), Engines{}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.know(s.scope, 8); err != nil {
		t.Fatal(err)
	}
	h, err := s.newHistory(8)
	if err == nil {
		err = h.extend(2, func(n int) { h.run(n, secondVersion) })
	}
	if err != nil {
		t.Fatal(err)
	}
	reader := s.client()
	if err := reader.get(h.snapshotPath("-1")); err != nil {
		t.Fatal(err)
	}
	var shown struct {
		Index     int64
		Artifacts []environments.SnapshotArtifact
	}
	if err := json.Unmarshal(reader.response.Body(), &shown); err != nil {
		t.Fatal(err)
	}
	differences := 0
	for _, artifact := range shown.Artifacts {
		if len(artifact.Flows) != 2 || artifact.CommitLeadTime == nil || artifact.CommitURL == nil {
			t.Errorf("%s is known as %+v", artifact.Name, artifact.Flows)
		}
		if artifact.DeploymentDiff.Value != nil {
			differences++
		}
	}
	// Two run in their second version; what they replaced is shown as well.
	if shown.Index != 3 || len(shown.Artifacts) != 9 || differences != 2 {
		t.Errorf("snapshot %d has %d artifacts, of which %d have a predecessor", shown.Index, len(shown.Artifacts), differences)
	}
	if err := h.extend(1, func(int) {}); err == nil {
		t.Error("an unchanged report counts as a snapshot")
	}
}

func fingerprints(t *testing.T, r *report) []environments.Fingerprint {
	t.Helper()
	var body environments.K8SReport
	if err := json.Unmarshal(r.body, &body); err != nil {
		t.Fatal(err)
	}
	if !body.Check() {
		t.Fatal("the report does not meet its schema")
	}
	var found []environments.Fingerprint
	for _, pod := range body.Artifacts {
		for _, fingerprint := range pod.Digests {
			if !slices.Contains(found, fingerprint) {
				found = append(found, fingerprint)
			}
		}
	}
	return found
}

func TestBareRefusesWhatTheServiceWouldRefuse(t *testing.T) {
	b, err := baseline.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	refused := answer{status: http.StatusBadRequest}
	if err := newClient(b.Address, "").put(baseline.ReportPath, []byte(`{"artifacts":[],"Type":"K8S"}`), refused); err != nil {
		t.Error(err)
	}
}
