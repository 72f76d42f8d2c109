package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/api/environments"
)

// fast asks for no more than each row's least: one operation per client and turn.
const fast = time.Microsecond

func TestEveryKindOfRowIsMeasuredOnBothSides(t *testing.T) {
	rows := slices.Concat(
		reportRows(unchangedReport, 40, 1, 2), reportRows(changedReport, 40, 1, 2), fleetRows(8, 3, 2),
		[]row{snapshotRow(20), diffRow(20, 5)}, momentRows(4, 20), eventRows(2),
	)
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			got, err := play(t.Context(), r, engines{}, t.TempDir(), fast)
			if err != nil {
				t.Fatal(err)
			}
			for side, figures := range map[string]summary{"service": got.Service, "bare": got.Bare} {
				if figures.Count != turns*r.clients || figures.PerSecond <= 0 || figures.P50 <= 0 || figures.P99 < figures.P50 {
					t.Errorf("%s: %+v", side, figures)
				}
			}
			if strings.HasPrefix(r.name, "get") && got.Answer < 1_000 {
				t.Errorf("the answer has %d bytes", got.Answer)
			}
			if got.Name != r.name || got.Clients != r.clients || got.Ratio.Whole <= 0 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestRowFailsOnAnAnswerThatIsNotTheWantedOne(t *testing.T) {
	r := row{name: "wrong", clients: 1, prepare: func(s *stage, _ int) (pair, error) {
		sent, err := newReport(s.scope, 3)
		if err != nil {
			return pair{}, err
		}
		return prepareCluster(s, "cluster", sent, func(*report) {}, created)
	}}
	_, err := play(t.Context(), r, engines{}, t.TempDir(), fast)
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
	s, err := openStage(t.Context(), engines{}, t.TempDir())
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

func TestGrowthComparesWithTheNextSmallerSize(t *testing.T) {
	var rows []row
	for _, size := range []int{100, 1_000} {
		for _, clients := range []int{1, 16} {
			rows = append(rows, grown("subject %d, "+counted(clients, "client"), size, clients, nil))
		}
	}
	rows = append(rows, row{name: "another"}, row{name: "one more"})
	var results []result
	for i := range rows {
		results = append(results, result{Service: summary{P50: float64(1 + i), Processor: float64(2 + 2*i)}})
	}
	want := []growth{
		{Of: "subject 1000, 1 client", From: 100, To: 1_000, Time: 3, Processor: 3},
		{Of: "subject 1000, 16 clients", From: 100, To: 1_000, Time: 2, Processor: 2},
	}
	if got := growths(rows, results); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	found := findings{Growths: want}
	var out bytes.Buffer
	if err := found.writeMarkdown(&out); err != nil || !strings.Contains(out.String(), "| subject 1000, 1 client | 100 | × 3.00 | × 3.00 |") {
		t.Errorf("%v, printed %s", err, out.String())
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

func TestRunPrintsItsConditionsAndRows(t *testing.T) {
	data := t.TempDir()
	args := []string{"--seconds", "0.001", "--rows", "report unchanged, 100 artifacts, 1 client", "--data", data}
	var out bytes.Buffer
	if err := run(t.Context(), args, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"`go run ./scripts/bench --seconds 0.001 --rows 'report unchanged", "cores", "miniredis",
		"| report unchanged, 100 artifacts, 1 client |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	assertEmpty(t, data)

	out.Reset()
	if err := run(t.Context(), append(args, "--json"), &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	var found findings
	if err := json.Unmarshal(out.Bytes(), &found); err != nil || len(found.Rows) != 1 || found.Machine.Cores < 1 {
		t.Errorf("%v, %+v", err, found)
	}
}

func TestInterruptedRunLeavesNothingBehind(t *testing.T) {
	data := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, []string{"--data", data}, io.Discard, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	assertEmpty(t, data)
}

func assertEmpty(t *testing.T, folder string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRunRefusesWhatItCannotMeasure(t *testing.T) {
	for _, args := range [][]string{{"--rows", "no such row"}, {"--seconds", "0"}, {"stray"}, {"--data", "/no/such/folder"}} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}

func TestCommandKeepsCredentialsToItself(t *testing.T) {
	got := command([]string{"--mongodb", "mongodb://user:p@ss@host:1/db?a=b&c=d", "--redis", "redis://:pass@host/0", "--json"})
	want := "go run ./scripts/bench --mongodb 'mongodb://…@host:1/db?a=b&c=d' --redis redis://…@host/0 --json"
	if got != want {
		t.Errorf("got %s", got)
	}
}

func TestBareRefusesWhatTheServiceWouldRefuse(t *testing.T) {
	b, err := startBare()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	})
	refused := answer{status: http.StatusBadRequest}
	if err := newClient(b.address, "").put(bareReportPath, []byte(`{"artifacts":[],"Type":"K8S"}`), refused); err != nil {
		t.Error(err)
	}
}

func TestFailedRowLeavesItsData(t *testing.T) {
	data := t.TempDir()
	args := []string{"--data", data, "--rows", "report unchanged, 100 ", "--mongodb", "mongodb://127.0.0.1:1/db?serverSelectionTimeoutMS=50"}
	err := run(t.Context(), args, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), data) {
		t.Fatalf("got %v", err)
	}
	if left, _ := os.ReadDir(data); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
