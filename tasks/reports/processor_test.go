package reports_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"
	"time"

	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/environments"
)

const minute = time.Minute

func fingerprint(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

func TestFirstReportMakesTheFirstSnapshotEvenWhenEmpty(t *testing.T) {
	s := newScene(t, nil)
	if got := s.accept(t, running()); got != snapshot.Waiting {
		t.Fatalf("verdict %d before the report was processed", got)
	}
	s.drain(t)
	made, artifacts, changes := s.artifacts(t, 1)
	if len(artifacts)+len(changes) != 0 || made.Compliant() {
		t.Errorf("snapshot is %+v", made)
	}
	if got := s.head(t).VerdictOf(1); got != snapshot.Created {
		t.Errorf("verdict %d", got)
	}
}

func TestReplacedArtifactExitsAndItsSuccessorStarts(t *testing.T) {
	s := newScene(t, nil)
	s.accept(t, running("a", "b"))
	s.accept(t, running("a", "c"))
	s.drain(t)
	made, artifacts, changes := s.artifacts(t, 2)
	if len(artifacts) != 2 || made.Counts != (snapshot.Counts{Null: 2}) {
		t.Errorf("%d artifacts run, counted %+v", len(artifacts), made.Counts)
	}
	got := map[string]snapshot.Annotation{}
	for _, change := range changes {
		got[change.Name] = change.Type
	}
	if len(got) != 2 || got["/opt/b"] != snapshot.Exited || got["/opt/c"] != snapshot.StartedUnknown {
		t.Errorf("changes are %v", got)
	}
	assertRunning(t, s, map[string]bool{"a": true, "b": false, "c": true})
	assertEvents(t, s, 4)
}

func TestUnchangedReportsMakeNoSnapshot(t *testing.T) {
	s := newScene(t, nil)
	s.accept(t, running("a", "b"))
	s.drain(t)
	if got := s.accept(t, running("b", "a")); got != snapshot.NoChange {
		t.Errorf("verdict %d on the fast path", got)
	}
	if head := s.head(t); head.Last != 1 || head.Processed != 1 {
		t.Errorf("head is %+v", head)
	}
}

func TestUnchangedReportUpdatesTheTimeOfTheLastReport(t *testing.T) {
	s := newScene(t, nil)
	s.accept(t, running("a"))
	s.drain(t)
	before := s.head(t).LastReportedAt
	s.clock.Advance(minute)
	s.accept(t, running("a"))
	if moved := s.head(t).LastReportedAt - before; moved < minute.Seconds() {
		t.Errorf("moved by %f s", moved)
	}
}

func TestScalingMakesNoSnapshot(t *testing.T) {
	s := newScene(t, nil)
	s.accept(t, running("a"))
	s.drain(t)
	scaled := running("a")
	scaled.Artifacts[0].CreatedAt = []int64{1, 2, 3}
	if got := s.accept(t, scaled); got != snapshot.Waiting {
		t.Fatalf("verdict %d", got)
	}
	s.drain(t)
	head := s.head(t)
	if head.Last != 1 || head.VerdictOf(2) != snapshot.NoChange {
		t.Errorf("head is %+v", head)
	}
	if got := s.accept(t, scaled); got != snapshot.NoChange {
		t.Errorf("the scaled report again: verdict %d", got)
	}
}

func TestReportAfterAWaitingOneIsNotTreatedAsUnchanged(t *testing.T) {
	s := newScene(t, nil)
	s.accept(t, running("a"))
	s.drain(t)
	s.accept(t, running("b"))
	if got := s.accept(t, running("a")); got != snapshot.Waiting {
		t.Fatalf("verdict %d while another report waits", got)
	}
	s.drain(t)
	if head := s.head(t); head.Last != 3 {
		t.Errorf("%d snapshots, want a, b, a", head.Last)
	}
}

func TestChangedGenerationSendsTheNextReportToTheWorker(t *testing.T) {
	s := newScene(t, nil)
	s.accept(t, running("a"))
	s.drain(t)
	if err := s.store.Generations.Bump(t.Context(), "org"); err != nil {
		t.Fatal(err)
	}
	if got := s.accept(t, running("a")); got != snapshot.Waiting {
		t.Fatalf("verdict %d although facts have changed", got)
	}
	s.drain(t)
	if got := s.accept(t, running("a")); got != snapshot.NoChange {
		t.Errorf("verdict %d after the worker has read the facts", got)
	}
}

func TestSnapshotOfManyChangesIsReadCompletely(t *testing.T) {
	s := newScene(t, nil)
	const n = 1_500 // more than one command inserts
	s.accept(t, fleet(n))
	s.drain(t)
	made, artifacts, changes := s.artifacts(t, 1)
	if len(artifacts) != n || len(changes) != n || len(made.Changes) > snapshot.MaxInlineChanges {
		t.Errorf("%d artifacts, %d changes of which %d inline", len(artifacts), len(changes), len(made.Changes))
	}
	assertEvents(t, s, n)
}

func TestObjectOfALargeReportIsDeletedAfterProcessing(t *testing.T) {
	s := newScene(t, nil)
	// Fingerprints compress only to about 32 bytes each. Each name has ten of them.
	const artifacts = 1_500
	names := make([]string, artifacts)
	for i := range names {
		for part := range 10 {
			names[i] += fingerprint(fmt.Sprint(i, "/", part))
		}
	}
	s.accept(t, running(names...))
	waiting, err := s.store.Reports.NextPending(t.Context(), s.env, 0, 1)
	if err != nil || len(waiting) != 1 || waiting[0].Object == "" {
		t.Fatalf("the report is not an object: %v", err)
	}
	s.drain(t)
	if _, stored, _ := s.artifacts(t, 1); len(stored) != artifacts {
		t.Errorf("%d artifacts", len(stored))
	}
	if _, err := s.store.Objects.Stat(t.Context(), waiting[0].Object); err == nil {
		t.Error("the object of the processed report still exists")
	}
}

func TestDamagedReportIsParkedAndLaterOnesAreProcessed(t *testing.T) {
	s := newScene(t, nil)
	s.accept(t, running("a"))
	damaged := environments.WaitingReport{
		ReportRecord: snapshot.ReportRecord{Org: "org", Environment: s.env, Arrival: 2, AcceptedAt: 1, Digest: "x"}, Content: []byte("no zstd"),
	}
	if err := s.store.Reports.Insert(t.Context(), damaged); err != nil {
		t.Fatal(err)
	}
	s.accept(t, running("b"))
	tries := 0
	for s.head(t).Processed < 3 {
		if tries++; tries > 10 {
			t.Fatalf("not parked after %d tries: %+v", tries, s.head(t))
		}
		_ = s.processor.Drain(t.Context(), s.env)
	}
	head := s.head(t)
	if head.VerdictOf(2) != snapshot.Failed || head.VerdictOf(3) != snapshot.Created || head.Last != 2 {
		t.Errorf("head is %+v", head)
	}
	kept, err := s.store.Reports.Get(t.Context(), s.env, 2)
	if err != nil || kept.Failure == "" {
		t.Errorf("the failed report is not kept with its reason: %+v, %v", kept, err)
	}
}

func assertRunning(t *testing.T, s *scene, want map[string]bool) {
	t.Helper()
	for name, runs := range want {
		where, _, err := s.store.Running.Where(t.Context(), "org", []string{fingerprint(name)})
		if err != nil {
			t.Fatal(err)
		}
		if found := where[fingerprint(name)]; slices.Equal(found, []string{s.env}) != runs || !runs && len(found) > 0 {
			t.Errorf("%s runs in %v, want in the environment: %v", name, found, runs)
		}
	}
}

func assertEvents(t *testing.T, s *scene, want int64) {
	t.Helper()
	var seen int64
	for seen < want+1 {
		events, err := s.store.Events.Between(t.Context(), s.env, seen+1, seen+storage.MaxMany, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range events {
			if seen++; event.Ordinal != seen {
				t.Fatalf("event %d has ordinal %d", seen, event.Ordinal)
			}
		}
		if len(events) == 0 {
			break
		}
	}
	if seen != want || s.head(t).Events != want {
		t.Errorf("%d events, the head says %d, want %d", seen, s.head(t).Events, want)
	}
}
