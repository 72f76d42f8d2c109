package reports_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"attestry/app/recording"
	"attestry/evidence/evidencetest"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/storagetest"
)

// newCountedScene returns a scene with an engine that counts its commands.
func newCountedScene(t *testing.T) (*scene, *storagetest.CountingDocuments) {
	t.Helper()
	var counting *storagetest.CountingDocuments
	s := newScene(t, func(docs storage.Documents) storage.Documents {
		counting = storagetest.NewCountingDocuments(docs)
		return counting
	})
	return s, counting
}

// maxWorkerCommands is how many commands a worker may use for a changed report of any size. Two of them look for
// logical environments that include this one, one for artifacts whose children run, and three write.
const maxWorkerCommands = 15

// TestOneChangeCostsTheWorkerTheSameInAnyReport bounds commands and written bytes: neither may grow with the number of
// unchanged artifacts.
func TestOneChangeCostsTheWorkerTheSameInAnyReport(t *testing.T) {
	written := map[int]int64{}
	small, large, replaced := 1_000, 10_000, 8
	if testing.Short() {
		small, large, replaced = 500, 5_000, 4
	}
	for _, n := range []int{small, large} {
		s, counting := newCountedScene(t)
		s.accept(t, fleet(n))
		s.drain(t)
		for change := range replaced {
			s.accept(t, fleet(n, change))
			counting.Reset()
			s.drain(t)
			if costs := counting.Snapshot(); costs.Commands() > maxWorkerCommands {
				t.Errorf("%d artifacts: %d commands: %+v", n, costs.Commands(), costs)
			}
			written[n] += counting.Snapshot().Bytes
		}
		t.Logf("%d artifacts, one replaced %d times: %d bytes, %d commands the last time",
			n, replaced, written[n], counting.Snapshot().Commands())
	}
	// A worker writes the chunks around the change, whose size does not depend on their number, and their parents. The
	// larger tree has one more level.
	if written[large] > 2*written[small] {
		t.Errorf("%d bytes in an environment ten times as large, %d in the smaller one", written[large], written[small])
	}
}

// TestOnlyTheLatestSnapshotStaysInMemory checks that the memory of a worker does not grow with the reports of an
// environment.
func TestOnlyTheLatestSnapshotStaysInMemory(t *testing.T) {
	s, counting := newCountedScene(t)
	s.accept(t, fleet(100))
	s.drain(t)
	s.accept(t, fleet(100, 1))
	s.drain(t)
	commands := map[int64]int{}
	for _, number := range []int64{2, 1} {
		made, err := s.store.Snapshots.Get(t.Context(), s.env, number)
		evidencetest.Must(t, err)
		counting.Reset()
		if _, err := s.store.Snapshots.Artifacts(t.Context(), &made); err != nil {
			t.Fatal(err)
		}
		commands[number] = counting.Snapshot().Commands()
	}
	if commands[2] != 0 || commands[1] == 0 {
		t.Errorf("the latest snapshot is read with %d commands, the previous one with %d", commands[2], commands[1])
	}
}

// TestLogicalEnvironmentCostsAMemberTheSameForAnyNumberOfMembers bounds the additional commands for a snapshot of an
// environment that a logical environment includes.
func TestLogicalEnvironmentCostsAMemberTheSameForAnyNumberOfMembers(t *testing.T) {
	const most = 11
	for _, n := range []int{1, 60} {
		s, counting := newCountedScene(t)
		members := []string{s.env}
		for range n - 1 {
			members = append(members, s.member(t).env)
		}
		s.accept(t, fleet(5))
		s.drain(t)
		s.unite(t, members...)
		s.accept(t, fleet(5, 1))
		counting.Reset()
		s.drain(t)
		if costs := counting.Snapshot(); costs.Commands() > maxWorkerCommands+most {
			t.Errorf("%d members: %d commands: %+v", n, costs.Commands(), costs)
		}
	}
}

func TestUnchangedReportCostsTheSameInAnyEnvironment(t *testing.T) {
	large := 10_000
	if testing.Short() {
		large = 2_000
	}
	for _, n := range []int{10, large} {
		s, counting := newCountedScene(t)
		report := fleet(n)
		s.accept(t, report)
		s.drain(t)
		s.clock.Advance(minute)
		counting.Reset()
		s.accept(t, report)
		if costs := counting.Snapshot(); costs.Commands() > 4 {
			t.Errorf("%d artifacts: %d commands: %+v", n, costs.Commands(), costs)
		}
	}
}

const (
	// maxKnownCommands is how many commands a worker may use for a changed report if the artifacts have provenance.
	// Three of them read the earlier trails that a replacement brings, in two flows.
	maxKnownCommands = 19
	// maxLevelCommands is how many more it may use with more than a thousand artifacts, whose tree has another level.
	maxLevelCommands = 3
	// maxGenerationCommands is how many more it may use, for each thousand artifacts, after the generation has changed.
	maxGenerationCommands = 2
	// maxColdCommands is how many more it may use in a new process, which reads the levels of the tree and the
	// templates.
	maxColdCommands = 5
)

// knownFleet returns a scene in which n services run, each with provenance in two flows.
func knownFleet(t *testing.T, n int) *modelScene {
	t.Helper()
	s := newModelScene(t, false, nil)
	var builders sync.WaitGroup
	for builder := range 16 {
		builders.Go(func() {
			for i := builder; i < n; i += 16 {
				s.version(t, i, 1)
			}
		})
	}
	builders.Wait()
	s.accept(t, services(n, 1))
	s.drain(t)
	return s
}

// version reports a version of a service to two flows.
func (s *modelScene) version(t *testing.T, service, version int) {
	t.Helper()
	for i, flow := range []string{"build", "scan"} {
		file := fmt.Sprint("service-", service, "-", version)
		number := (version*10_000+service)*2 + i
		d := operation{Flow: flow, Trail: file, Slot: fmt.Sprint("service-", service), File: file, Commit: "ab", Repo: fmt.Sprint("repo-", service)}
		record := d.record(number)
		record.Org = "org"
		scope := recording.Scope{Org: "org", OrgName: "org", Flow: flow, Trail: file, By: "ci", ByID: "ci", At: record.CreatedAt}
		evidencetest.Check(t, s.store.Recorder.Report(t.Context(), scope, record, nil))
	}
}

// services is a report of n services: the first ones in the given versions, the others in version 1.
func services(n int, versions ...int) snapshot.Report {
	d := operation{}
	for i := range n {
		version := 1
		if i < len(versions) {
			version = versions[i]
		}
		file := fmt.Sprint("service-", i, "-", version)
		d.Images = append(d.Images, image{Name: file, File: file, At: 1})
	}
	return d.report()
}

// TestReplacedArtifactWithProvenanceCostsTheSameInAnyReport bounds commands and written bytes: in the same process,
// after the generation has changed, and in a new process with empty caches.
func TestReplacedArtifactWithProvenanceCostsTheSameInAnyReport(t *testing.T) {
	sizes := []int{200, 1_500}
	if testing.Short() {
		sizes = []int{80, 600}
	}
	written := map[int]int64{}
	for _, n := range sizes {
		s := knownFleet(t, n)
		var counting *storagetest.CountingDocuments
		count := func(docs storage.Documents) storage.Documents {
			counting = storagetest.NewCountingDocuments(docs)
			return counting
		}
		worker := s.another(t, count)
		versions := []int{1, 1, 1, 1}
		replace := func(what string, worker *scene, most int) {
			t.Helper()
			if n > 1_000 {
				most += maxLevelCommands
			}
			at := slices.Index(versions, 1)
			versions[at] = 2
			s.version(t, at, 2)
			s.accept(t, services(n, versions...))
			counting.Reset()
			worker.drain(t)
			costs := counting.Snapshot()
			written[n] += costs.Bytes
			if t.Logf("%d artifacts, %s: %d commands, %d bytes", n, what, costs.Commands(), costs.Bytes); costs.Commands() > most {
				t.Errorf("%d artifacts, %s: %d commands: %+v", n, what, costs.Commands(), costs)
			}
			if previous := s.previousOf(t, fmt.Sprint("service-", at, "-2")); previous != fingerprint(fmt.Sprint("service-", at, "-1")) {
				t.Errorf("%d artifacts, %s: the predecessor is %q", n, what, previous)
			}
		}
		replace("with empty caches", worker, maxKnownCommands+maxColdCommands)
		replace("replaced", worker, maxKnownCommands)
		evidencetest.Must(t, s.store.Generations.Bump(t.Context(), "org"))
		replace("in another generation", worker, maxKnownCommands+maxGenerationCommands*((n+999)/1000))
		replace("with empty caches in a new process", s.another(t, count), maxKnownCommands+maxColdCommands)
	}
	if written[sizes[1]] > 2*written[sizes[0]] {
		t.Errorf("%d bytes in the larger environment, %d in the smaller one", written[sizes[1]], written[sizes[0]])
	}
}

// previousOf returns the fingerprint of the predecessor of a running file, or "".
func (s *scene) previousOf(t *testing.T, file string) string {
	t.Helper()
	_, artifacts, _ := s.artifacts(t, s.head(t).Last)
	for _, origin := range snapshot.ByFingerprint(artifacts)[fingerprint(file)].Origins {
		if origin.Previous != nil {
			return origin.Previous.Fingerprint
		}
	}
	return ""
}
