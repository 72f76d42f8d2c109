package reports_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"attestry/evidence/snapshot"
	"attestry/storage"
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
