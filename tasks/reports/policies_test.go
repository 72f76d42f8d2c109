package reports_test

import (
	"fmt"
	"testing"
	"time"

	"attestry/app/recording"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/governance"
	"attestry/storage/storagetest"
)

// attach stores a policy, attaches it to the environment, and enqueues an evaluation, as the api does.
func (s *scene) attach(t testing.TB, name, content string) {
	t.Helper()
	change := governance.Change{Org: "org", Name: name, By: "me", At: 1, Content: []byte("_schema: https://kosli.com/schemas/policy/environment/v1\n" + content)}
	if _, err := s.store.Policies.Put(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	evidencetest.Must(t, s.store.Environments.Modify(t.Context(), s.env, 1, func(e *evidence.Environment) (bool, error) { return e.AttachPolicies([]string{name}) }))
	s.reevaluate(t)
}

func (s *scene) reevaluate(t testing.TB) {
	t.Helper()
	evidencetest.Must(t, s.store.Generations.Bump(t.Context(), "org"))
	evidencetest.Must(t, s.intake.Reevaluate(t.Context(), "org", s.env, evidence.Server, "me"))
}

const (
	needProvenance  = "artifacts: {provenance: {required: true}}"
	needAttestation = "artifacts: {trail-compliance: {required: true}, attestations: [{type: snyk}, {type: generic, name: x}]}"
	needDecision    = "artifacts: {attestations: [{type: decision, for_control: R-1}]}"
)

// TestPoliciesCostTheSameCommandsInAnyReport attaches policies to environments with few and with many artifacts, fewer
// than a thousand.
func TestPoliciesCostTheSameCommandsInAnyReport(t *testing.T) {
	// The tree of the larger environment may have one more level, and its chunk boundaries depend on random ids. Two
	// batches and the head are written.
	t.Run("attestations", func(t *testing.T) { policyCostsTheSame(t, needAttestation, 6) })
	// Decisions are read with a command for each thousand pairs of a control and a subject.
	t.Run("decisions", func(t *testing.T) { policyCostsTheSame(t, needDecision, 7) })
}

// policyCostsTheSame attaches a policy that no artifact complies with. The larger environment may use more commands, up
// to the given number.
func policyCostsTheSame(t *testing.T, content string, more int) {
	took := map[int]int{}
	for _, n := range []int{40, 240} {
		s := knownFleet(t, n)
		s.attach(t, "provenance", needProvenance)
		s.drain(t)
		var counting *storagetest.CountingDocuments
		worker := s.another(t, func(docs storage.Documents) storage.Documents {
			counting = storagetest.NewCountingDocuments(docs)
			return counting
		})
		s.attach(t, "second", content)
		worker.drain(t)
		took[n] = counting.Snapshot().Commands()
		if counts := s.head(t).Counts; counts.False != n {
			t.Errorf("%d artifacts: %+v", n, counts)
		}
	}
	if took[240] > took[40]+more {
		t.Errorf("%d commands for 40 artifacts, %d for 240", took[40], took[240])
	}
}

// TestArtifactsLackSomethingOnlyInTrailsWhereTheyAreNotCompliant attests what the template requires in one of two flows.
func TestArtifactsLackSomethingOnlyInTrailsWhereTheyAreNotCompliant(t *testing.T) {
	s := knownFleet(t, 1)
	scope := recording.Scope{Org: "org", OrgName: "org", Flow: "scan", Trail: "service-0-1", By: "ci", ByID: "ci", At: 1e9}
	passed := evidence.Attestation{ID: evidence.NewID(), Org: "org", Trail: scope.Trail, Name: "x", Type: evidence.TypeGeneric, Compliant: true, Fingerprint: fingerprint("service-0-1"), CreatedAt: 1e9}
	evidencetest.Must(t, s.store.Recorder.Attest(t.Context(), scope, passed, nil))
	s.attach(t, "provenance", needProvenance)
	s.drain(t)
	_, artifacts, _ := s.artifacts(t, s.head(t).Last)
	lacking := 0
	for _, origin := range artifacts[0].Origins {
		if (origin.Shortfall != nil) != (origin.Status != evidence.Compliant) {
			t.Errorf("it is %s and lacks %v", origin.Status, origin.Shortfall)
		}
		if origin.Shortfall != nil {
			lacking++
		}
	}
	if len(artifacts[0].Origins) != 2 || lacking != 1 {
		t.Errorf("it lacks something in %d of %d flows", lacking, len(artifacts[0].Origins))
	}
}

// TestReevaluationSurvivesTheDeathOfTheWorkerAtAnyWrite has a worker die before and after each of its writes, and
// another one continue.
func TestReevaluationSurvivesTheDeathOfTheWorkerAtAnyWrite(t *testing.T) {
	died := true
	for write := 1; died; write++ {
		died = false // for -failfast, which skips the tests below after a failure
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("write %d after %t", write, after), func(t *testing.T) {
				died = reevaluateWithDeath(t, write, after)
			})
		}
	}
}

// reevaluateWithDeath reports whether the worker died: it ends normally if it makes fewer writes.
func reevaluateWithDeath(t *testing.T, write int, after bool) bool {
	s := newScene(t, nil)
	s.accept(t, fleet(3))
	s.drain(t)
	s.attach(t, "provenance", needProvenance)
	var faults *storagetest.FaultInjector
	worker := s.another(t, func(docs storage.Documents) storage.Documents {
		faults = storagetest.NewFaultInjector(docs, storagetest.DieAtWrite(write, after))
		return faults
	})
	if err := worker.processor.Drain(t.Context(), s.env); err != nil && !faults.Dead.Load() {
		t.Fatal(err)
	}
	s.clock.Advance(time.Minute) // the lease expires
	s.drain(t)
	head := s.head(t)
	if head.Last != 2 || head.Processed != 2 || head.Counts.False != 3 || len(head.Policies) != 1 || head.VerdictOf(2) != snapshot.Created {
		t.Errorf("head is %+v", head)
	}
	if verdict := s.accept(t, fleet(3)); verdict != snapshot.NoChange {
		t.Errorf("the same report once more: verdict %v", verdict)
	}
	return faults.Dead.Load()
}

func TestReevaluationKeepsTheOrderOfReports(t *testing.T) {
	s := newScene(t, nil)
	s.accept(t, fleet(2))
	s.attach(t, "provenance", needProvenance)
	s.accept(t, fleet(3))
	s.reevaluate(t)
	s.drain(t)
	head := s.head(t)
	if head.Processed != 4 || head.Last != 2 || head.Counts.False != 3 {
		t.Errorf("head is %+v", head)
	}
	// The policy was attached before the first report was processed.
	for arrival, want := range map[int64]snapshot.Verdict{1: snapshot.Created, 2: snapshot.NoChange, 3: snapshot.Created, 4: snapshot.NoChange} {
		if got := head.VerdictOf(arrival); got != want {
			t.Errorf("arrival %d: %v, want %v", arrival, got, want)
		}
	}
}
