package auditpackage_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/audit"
	"attestry/evidence/job"
	"attestry/goroutine"
	"attestry/storage"
	"attestry/storage/storagetest"
	"attestry/tasks/auditpackage"
)

func TestRequestsOfTheSameFactsShareAnAssembly(t *testing.T) {
	s := delivered(t)
	for range 3 {
		if answer := s.ask(s.ofTrail("1")); answer.Progress != audit.Pending || answer.Package != nil {
			t.Fatalf("answer %+v", answer)
		}
	}
	s.must(s.relay.Relay(t.Context()))
	s.must(s.relay.Relay(t.Context()))
	if len(s.queue) != 1 {
		t.Errorf("enqueued %q", s.queue)
	}
	s.must(s.work())
	if answer := s.ask(s.ofTrail("1")); answer.Progress != audit.Complete || !slices.Contains(s.published, s.ofTrail("1").ID) {
		t.Errorf("answer %+v, published %q", answer, s.published)
	}
}

func TestPackageRequestedDuringAnAssemblyHasTheLaterFacts(t *testing.T) {
	s := delivered(t)
	s.ask(s.ofTrail("1"))
	asked := false
	s.start(s.docs, &observedObjects{Objects: s.engine, put: func() {
		if !asked {
			asked = true
			s.attest("1", attestation("late", evidence.TypeGeneric))
			s.ask(s.ofTrail("1"))
		}
	}})
	s.must(s.work())
	answer := s.ask(s.ofTrail("1"))
	if answer.Progress != audit.Complete {
		t.Fatalf("answer %+v", answer)
	}
	if result := verify(t, s.members(s.read(s.ofTrail("1").ID, answer.Package.Archive))); result.Attestations != 7 {
		t.Errorf("it has %d attestations", result.Attestations)
	}
}

// observedObjects is an object store that calls put before each Put.
type observedObjects struct {
	storage.Objects
	put func()
	// err, if set, is the error that Put returns after it has read the stream.
	err error
}

func (o *observedObjects) Put(ctx context.Context, scope string, r io.Reader, size int64) (storage.Object, error) {
	if o.put != nil {
		o.put()
	}
	if o.err != nil {
		_, _ = io.Copy(io.Discard, r)
		return storage.Object{}, o.err
	}
	return o.Objects.Put(ctx, scope, r, size)
}

func TestRequestWaitsForItsPackage(t *testing.T) {
	s := delivered(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		answer, err := s.requests.Ask(t.Context(), s.ofTrail("1"), time.Minute)
		if err != nil || answer.Progress != audit.Complete || answer.Package == nil {
			t.Errorf("answer %+v, %v", answer, err)
		}
	}()
	for len(s.queue) == 0 {
		s.must(s.relay.Relay(t.Context()))
	}
	s.must(s.work())
	<-done
}

func TestRequestDoesNotWaitForEver(t *testing.T) {
	s := delivered(t)
	answer, err := s.requests.Ask(t.Context(), s.ofTrail("1"), time.Millisecond)
	if err != nil || answer.Progress != audit.Pending {
		t.Errorf("answer %+v, %v", answer, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.requests.Ask(ctx, s.ofTrail("1"), time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled request: %v", err)
	}
}

// stopping is the registry of a process that stops: it wakes waiters for the last time. It counts those that leave.
type stopping struct{ left int }

func (s *stopping) Register(string) (<-chan struct{}, func(), bool) {
	wake := make(chan struct{})
	close(wake)
	return wake, func() { s.left++ }, true
}

func TestRequestDoesNotWaitWhileTheProcessStops(t *testing.T) {
	s := delivered(t)
	ctx, cancel := context.WithTimeout(t.Context(), auditpackage.MaxWait/2)
	defer cancel()
	waiters := &stopping{}
	answer, err := auditpackage.NewRequests(s.store, waiters, s.clock.Now, nil).Ask(ctx, s.ofTrail("1"), time.Minute)
	if err != nil || answer.Progress != audit.Pending || waiters.left != 1 {
		t.Errorf("answer %+v, %d left, %v", answer, waiters.left, err)
	}
}

func TestOutageIsReportedAndDoesNotCountAsAnAttempt(t *testing.T) {
	s := delivered(t)
	s.ask(s.ofTrail("1"))
	s.start(s.docs, &observedObjects{Objects: s.engine, err: storage.Outage(storage.ObjectStore, errors.New("connection refused"))})
	for range 2 * job.Assemble.Attempts {
		if err := s.work(); err == nil {
			t.Fatal("the task did not fail")
		}
		if answer := s.ask(s.ofTrail("1")); answer.Progress != audit.Pending || answer.Reason != "The object store cannot be reached, please try again." {
			t.Fatalf("answer %+v", answer)
		}
		s.clock.Advance(11 * time.Second)
	}
	s.start(s.docs, s.engine)
	s.must(s.work())
	s.wantProgress(s.ofTrail("1"), audit.Complete)
}

func TestFailedAssemblyIsReportedOnceAndRetriedOnRequest(t *testing.T) {
	s := delivered(t)
	subject := s.ofTrail("1")
	s.start(s.docs, &observedObjects{Objects: s.engine, err: errors.New("secret detail")})
	s.ask(subject)
	for range job.Assemble.Attempts {
		_ = s.work()
		s.clock.Advance(11 * time.Second)
	}
	assembly, err := s.store.Assemblies.Get(t.Context(), subject.ID)
	if err != nil || assembly.ProgressOf(1) != audit.Failed || assembly.Reason == "" || strings.Contains(assembly.Reason, "secret") || assembly.Due != 0 {
		t.Fatalf("assembly %+v, %v", assembly, err)
	}
	s.start(s.docs, s.engine)
	if answer := s.ask(subject); answer.Progress != audit.Failed || answer.Reason != assembly.Reason {
		t.Errorf("the first request after the failure: %+v", answer)
	}
	if answer := s.ask(subject); answer.Progress != audit.Pending || answer.Reason != "" {
		t.Errorf("the next request: %+v", answer)
	}
	s.must(s.work())
	s.wantProgress(subject, audit.Complete)
}

func TestStoreThatRefusesWritesFailsThePackage(t *testing.T) {
	s := delivered(t)
	s.start(s.docs, &observedObjects{Objects: s.engine, err: storage.RefuseWrite(storage.ObjectStore, storage.DiskFull, errors.New("no space"))})
	s.ask(s.ofTrail("1"))
	for range job.Assemble.Attempts {
		_ = s.work()
		s.clock.Advance(11 * time.Second)
	}
	if answer := s.ask(s.ofTrail("1")); answer.Progress != audit.Failed || answer.Reason != "The object store cannot be written to: the disk is full." {
		t.Errorf("answer %+v", answer)
	}
}

func TestPackagesAreAssembledThoughTheClockIsSetBack(t *testing.T) {
	s := delivered(t)
	s.ask(s.ofTrail("1"))
	s.clock.Advance(-time.Hour)
	s.must(s.work())
	s.wantProgress(s.ofTrail("1"), audit.Complete)
}

func TestTaskThatRedisLosesIsEnqueuedAgain(t *testing.T) {
	s := delivered(t)
	s.ask(s.ofTrail("1"))
	s.must(s.relay.Relay(t.Context()))
	s.queue = nil // Redis is emptied
	s.clock.Advance(9 * time.Second)
	s.must(s.relay.Relay(t.Context()))
	if len(s.queue) != 0 {
		t.Fatalf("enqueued after 9 seconds: %q", s.queue)
	}
	s.clock.Advance(2 * time.Second)
	s.must(s.work())
	s.wantProgress(s.ofTrail("1"), audit.Complete)
}

// TestPackageIsAssembledAlthoughWorkersDie has a worker die before or after each of its writes.
func TestPackageIsAssembledAlthoughWorkersDie(t *testing.T) {
	for _, after := range []bool{false, true} {
		for write := 1; ; write++ {
			s := delivered(t)
			s.ask(s.ofTrail("1"))
			dying := storagetest.NewFaultInjector(s.docs, storagetest.DieAtWrite(write, after))
			s.start(dying, s.engine)
			_ = s.work()
			s.start(s.docs, s.engine)
			s.clock.Advance(time.Minute)
			s.must(s.work())
			answer := s.ask(s.ofTrail("1"))
			if answer.Progress != audit.Complete {
				t.Fatalf("death at write %d, after it %v: %+v", write, after, answer)
			}
			if !dying.Dead.Load() {
				break
			}
		}
	}
}

func TestPackageThatKillsItsWorkersFails(t *testing.T) {
	s := delivered(t)
	subject := s.ofTrail("1")
	s.ask(subject)
	for i := range job.Assemble.Attempts + 1 {
		_, err := s.store.Assemblies.Update(t.Context(), subject.ID, func(a *audit.Assembly) { a.Begin(evidence.NewID(), s.now()) })
		s.must(err)
		s.clock.Advance(time.Minute)
		assembly, err := s.store.Assemblies.Get(t.Context(), subject.ID)
		if want := i == job.Assemble.Attempts; err != nil || (assembly.ProgressOf(1) == audit.Failed) != want {
			t.Errorf("after %d deaths: %+v, %v", i+1, assembly, err)
		}
	}
}

// panicking is an object store whose reads panic.
type panicking struct{ storage.Objects }

func (panicking) Get(context.Context, string, int64, int64) (io.ReadCloser, error) { panic("a read") }

func TestPackageWhoseAssemblyPanicsFails(t *testing.T) {
	s := delivered(t)
	s.start(s.docs, panicking{s.engine})
	subject := s.ofTrail("1")
	s.ask(subject)
	for i := range job.Assemble.Attempts {
		if err := s.work(); !errors.Is(err, goroutine.ErrPanicked) {
			t.Fatalf("attempt %d: %v", i+1, err)
		}
		s.clock.Advance(time.Minute)
		assembly, err := s.store.Assemblies.Get(t.Context(), subject.ID)
		if want := i+1 == job.Assemble.Attempts; err != nil || (assembly.ProgressOf(1) == audit.Failed) != want {
			t.Errorf("after %d attempts: %+v, %v", i+1, assembly, err)
		}
	}
}

func TestWorkersDoNotAssembleTheSamePackageAtOnce(t *testing.T) {
	s := delivered(t)
	subject := s.ofTrail("1")
	s.ask(subject)
	_, err := s.store.Assemblies.Update(t.Context(), subject.ID, func(a *audit.Assembly) { a.Begin("another worker", s.now()) })
	s.must(err)
	s.must(s.work())
	s.must(s.assembler.Assemble(t.Context(), subject.ID)) // its task is late
	if answer := s.ask(subject); answer.Progress != audit.Pending || !slices.Contains(s.published, subject.ID) {
		t.Errorf("answer %+v, published %q", answer, s.published)
	}
	s.clock.Advance(time.Minute) // the other worker's lease expires
	s.must(s.work())
	s.wantProgress(subject, audit.Complete)
}

// TestWorkerThatHasLostItsLeaseChangesNothing has another worker take over while a package is stored.
func TestWorkerThatHasLostItsLeaseChangesNothing(t *testing.T) {
	for name, failure := range map[string]error{"the package is stored": nil, "the package cannot be stored": errors.New("broken")} {
		t.Run(name, func(t *testing.T) {
			s := delivered(t)
			subject := s.ofArtifact(current)
			s.ask(subject)
			s.start(s.docs, &observedObjects{Objects: s.engine, err: failure, put: func() {
				s.clock.Advance(time.Minute)
				_, err := s.store.Assemblies.Update(t.Context(), subject.ID, func(a *audit.Assembly) { a.Begin("another worker", s.now()) })
				s.must(err)
			}})
			if err := s.work(); !errors.Is(err, failure) {
				t.Errorf("got %v", err)
			}
			a, err := s.store.Assemblies.Get(t.Context(), subject.ID)
			if stored := failure == nil; err != nil || a.Holder != "another worker" || a.ProgressOf(1) != audit.Pending || a.Reason != "" ||
				(len(a.Replaced) == 1) != stored || stored && slices.Contains(s.published, subject.ID) {
				t.Errorf("assembly %+v, published %q, %v", a, s.published, err)
			}
		})
	}
}

// TestRequestsFailWithEachOfTheirCommands requests a package that was not requested for hours, and a new one, and
// deletes old ones.
func TestRequestsFailWithEachOfTheirCommands(t *testing.T) {
	s := delivered(t)
	ready, fresh := s.ofTrail("1"), s.ofArtifact(current)
	for name, run := range map[string]func() error{
		"ready": func() error { _, err := s.requests.Ask(t.Context(), ready, 0); return err },
		"fresh": func() error { _, err := s.requests.Ask(t.Context(), fresh, 0); return err },
		"clean": func() error { return s.cleaner.Clean(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			open := func() storage.Documents {
				s.start(s.docs, s.engine)
				s.assemble(ready)
				_, err := s.store.Assemblies.Update(t.Context(), fresh.ID, func(a *audit.Assembly) { *a = fresh })
				s.must(storage.IgnoreMissing(err))
				if s.clock.Advance(2 * time.Hour); name == "clean" {
					s.attest("1", attestation("more", evidence.TypeGeneric))
					s.assemble(ready)
					s.clock.Advance(keptFor + time.Hour)
				}
				return s.docs
			}
			storagetest.EachFailure(t, 4, open, func(docs storage.Documents) error {
				s.start(docs, s.engine)
				return run()
			})
		})
	}
}

// TestReadyPackageCostsAConstantNumberOfCommands compares a trail with few facts with one with many.
func TestReadyPackageCostsAConstantNumberOfCommands(t *testing.T) {
	costs := map[int]int{}
	for _, attestations := range []int{1, 40} {
		s := newScene(t)
		counting := storagetest.NewCountingDocuments(s.docs)
		s.start(counting, s.engine)
		s.deliver()
		for range attestations {
			s.attest("1", attestation("more", evidence.TypeGeneric))
			s.report("1", "web", evidence.SHA256([]byte{byte(attestations)}))
		}
		s.assemble(s.ofTrail("1"))
		counting.Reset()
		s.wantProgress(s.ofTrail("1"), audit.Complete)
		counted := counting.Snapshot()
		costs[attestations] = counted.Commands()
	}
	if costs[1] != costs[40] || costs[1] > 12 {
		t.Errorf("commands: %v", costs)
	}
}

var _ auditpackage.Waiters = (*scene)(nil)
