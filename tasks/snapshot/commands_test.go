package snapshot_test

import (
	"testing"

	"attestry/storage"
)

// newCountedScene is a scene in which the costs of each step can be read.
func newCountedScene(t *testing.T) (*scene, *storage.CountingDocuments) {
	t.Helper()
	var counting *storage.CountingDocuments
	s := newScene(t, func(docs storage.Documents) storage.Documents {
		counting = storage.NewCountingDocuments(docs)
		return counting
	})
	return s, counting
}

// maxWorkerCommands is what a changed report may cost the worker, however large
// it is.
const maxWorkerCommands = 12

// TestOneChangeCostsTheWorkerTheSameInAnyReport pins commands and bytes: neither
// may grow with what has not changed.
func TestOneChangeCostsTheWorkerTheSameInAnyReport(t *testing.T) {
	written := map[int]int64{}
	for _, n := range []int{1_000, 10_000} {
		s, counting := newCountedScene(t)
		s.accept(t, fleet(n))
		s.drain(t)
		for change := range 8 {
			s.accept(t, fleet(n, change))
			counting.Reset()
			s.drain(t)
			if costs := counting.Snapshot(); costs.Commands() > maxWorkerCommands {
				t.Errorf("%d artifacts: %d commands: %+v", n, costs.Commands(), costs)
			}
			written[n] += counting.Snapshot().Bytes
		}
		t.Logf("%d artifacts, one replaced eight times: %d bytes, %d commands the last time",
			n, written[n], counting.Snapshot().Commands())
	}
	// What is written are the chunks around the change, whose size is independent
	// of their number, and their parents, of which there is one level more.
	if written[10_000] > 2*written[1_000] {
		t.Errorf("%d bytes in an environment ten times as large, %d in the other", written[10_000], written[1_000])
	}
}

func TestUnchangedReportCostsTheSameInAnyEnvironment(t *testing.T) {
	for _, n := range []int{10, 10_000} {
		s, counting := newCountedScene(t)
		report := fleet(n)
		s.accept(t, report)
		s.drain(t)
		s.clock.turn(minute)
		counting.Reset()
		s.accept(t, report)
		if costs := counting.Snapshot(); costs.Commands() > 4 {
			t.Errorf("%d artifacts: %d commands: %+v", n, costs.Commands(), costs)
		}
	}
}
