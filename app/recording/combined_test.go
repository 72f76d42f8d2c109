package recording_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"attestry/app"
	"attestry/app/apptest"
	"attestry/app/recording"
	"attestry/evidence"
	"attestry/goroutine"
	"attestry/storage"
)

// gate is an engine whose first batch waits until open is closed.
type gate struct {
	storage.Documents
	batches       atomic.Int64
	reached, open chan struct{}
}

func (g *gate) Write(ctx context.Context, writes ...storage.Write) error {
	if g.batches.Add(1) == 1 {
		close(g.reached)
		<-g.open
	}
	return g.Documents.Write(ctx, writes...)
}

func (s *announceFixture) process(docs storage.Documents) *app.Store {
	store := app.NewStore(docs, s.Objs, time.Now, slog.New(slog.NewTextHandler(io.Discard, nil)))
	s.T.Cleanup(store.Tenancy.Close)
	return store
}

func attestation(name string) evidence.Attestation {
	return evidence.Attestation{
		ID: evidence.NewID(), Org: "org", Trail: "t", Name: name, Type: evidence.TypeGeneric, Fingerprint: apptest.Sha("1", 64), CreatedAt: 2000,
	}
}

func TestWaitingAttestationsOfATrailAreWrittenWithOneBatch(t *testing.T) {
	const clients = 20
	s := newAnnounceFixture(t, 0)
	docs := &gate{Documents: s.Db, reached: make(chan struct{}), open: make(chan struct{})}
	recorder := s.process(docs).Recorder
	var done sync.WaitGroup
	attest := func(name string) {
		done.Go(func() {
			if err := recorder.Attest(t.Context(), s.scope(), attestation(name), nil); err != nil {
				t.Error(err)
			}
		})
	}
	attest("first")
	<-docs.reached
	for i := range clients {
		attest(fmt.Sprint("x", i))
	}
	waitFor(t, func() bool { return recorder.Waiting() == clients })
	close(docs.open)
	done.Wait()
	if n := docs.batches.Load(); n != 2 {
		t.Errorf("%d batches for one attestation and %d that waited", n, clients)
	}
	slots, err := s.Slots.OfTrail(t.Context(), s.trailKey(), []string{"app"})
	s.Must(err)
	if slot := slots["app"]; len(slot.Entries) != clients+1 {
		t.Errorf("the slot has %d attestations", len(slot.Entries))
	}
}

func (s *announceFixture) trailKey() string {
	s.T.Helper()
	ref, err := s.Flows.Resolve(s.T.Context(), "org", "flow")
	s.Must(err)
	return evidence.TrailKey(ref.ID, "t")
}

// TestRefusalByTheCachedTrailIsCheckedAgain attests an artifact that another process has reported since this process
// cached the trail.
func TestRefusalByTheCachedTrailIsCheckedAgain(t *testing.T) {
	s := newAnnounceFixture(t, 0)
	s.attest()
	later := attestation("x")
	later.Fingerprint = apptest.Sha("2", 64)
	if err := s.Recorder.Attest(t.Context(), s.scope(), later, nil); evidence.CodeOf(err) != evidence.NotFound {
		t.Fatalf("attested an artifact that was not reported: got %v", err)
	}
	s.Must(s.process(s.Db).Recorder.Report(t.Context(), s.scope(), evidence.ArtifactRecord{
		ID: evidence.NewID(), Org: "org", Trail: "t", Name: "app", Fingerprint: later.Fingerprint, CreatedAt: 3000,
	}, nil))
	s.Must(s.Recorder.Attest(t.Context(), s.scope(), later, nil))
}

// TestRefusedAttestationDoesNotAffectOthers has an attestation of an unknown artifact wait among others.
func TestRefusedAttestationDoesNotAffectOthers(t *testing.T) {
	s := newAnnounceFixture(t, 0)
	docs := &gate{Documents: s.Db, reached: make(chan struct{}), open: make(chan struct{})}
	recorder := s.process(docs).Recorder
	errs := make([]error, 5)
	var done sync.WaitGroup
	for i := range errs {
		a := attestation(fmt.Sprint("x", i))
		if i == 3 {
			a.Fingerprint = apptest.Sha("9", 64)
		}
		done.Go(func() { errs[i] = recorder.Attest(t.Context(), s.scope(), a, nil) })
		if i == 0 {
			<-docs.reached
		}
	}
	waitFor(t, func() bool { return recorder.Waiting() == 4 })
	close(docs.open)
	done.Wait()
	for i, err := range errs {
		if refused := evidence.CodeOf(err) == evidence.NotFound; refused != (i == 3) || err != nil && !refused {
			t.Errorf("attestation %d: %v", i, err)
		}
	}
}

func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the condition was not met within 10 s")
		}
	}
}

// TestPanickingChangesHaveNoEffect has changes that panic among others that are written with the same batch.
func TestPanickingChangesHaveNoEffect(t *testing.T) {
	const clients = 20
	s := newAnnounceFixture(t, 0)
	docs := &gate{Documents: s.Db, reached: make(chan struct{}), open: make(chan struct{})}
	recorder := s.process(docs).Recorder
	var done sync.WaitGroup
	attest := func(name string, want error, record func(evidence.Attestation) error) {
		done.Go(func() {
			if err := record(attestation(name)); !errors.Is(err, want) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	sound := func(a evidence.Attestation) error { return recorder.Attest(t.Context(), s.scope(), a, nil) }
	panics := func(a evidence.Attestation) error {
		return recorder.AttestAndPanic(t.Context(), s.scope(), s.trailKey(), a)
	}
	attest("first", nil, sound)
	<-docs.reached
	for i := range clients {
		attest(fmt.Sprint("sound", i), nil, sound)
		attest(fmt.Sprint("panics", i), goroutine.ErrPanicked, panics)
	}
	waitFor(t, func() bool { return recorder.Waiting() == 2*clients })
	close(docs.open)
	done.Wait()
	if err := panics(attestation("alone")); !errors.Is(err, goroutine.ErrPanicked) {
		t.Errorf("alone: %v", err)
	}
	if err := sound(attestation("last")); err != nil {
		t.Errorf("last: %v", err)
	}
	slots, err := s.Slots.OfTrail(t.Context(), s.trailKey(), []string{"app"})
	s.Must(err)
	if slot := slots["app"]; len(slot.Entries) != clients+2 {
		t.Errorf("the slot has %d attestations", len(slot.Entries))
	}
	for _, entry := range slots["app"].Entries {
		if strings.HasPrefix(entry.Name, "panics") || entry.Name == "alone" {
			t.Errorf("the slot has %s", entry.Name)
		}
	}
}

// poisoned is an engine that panics when a document is read whose id contains poison.
type poisoned struct{ storage.Documents }

func (p poisoned) Get(ctx context.Context, schema *storage.Schema, id string) (storage.Record, error) {
	if strings.Contains(id, "poison") {
		panic("poison")
	}
	return p.Documents.Get(ctx, schema, id)
}

func (p poisoned) GetMany(ctx context.Context, schema *storage.Schema, ids []string) ([]storage.Record, error) {
	if strings.Contains(strings.Join(ids, " "), "poison") {
		panic("poison")
	}
	return p.Documents.GetMany(ctx, schema, ids)
}

func TestPanickingBeginDoesNotAffectOthers(t *testing.T) {
	s := newAnnounceFixture(t, 0)
	store := s.process(poisoned{s.Db})
	flow, err := store.Flows.Resolve(t.Context(), s.scope().Org, s.scope().Flow)
	s.Must(err)
	errs := store.Recorder.BeginTogether(t.Context(), s.scope(), flow.ID,
		recording.NamedBegin{Trail: "a"}, recording.NamedBegin{Trail: "b", Template: "poison"}, recording.NamedBegin{Trail: "c"})
	for i, want := range []error{nil, goroutine.ErrPanicked, nil} {
		name := string(rune('a' + i))
		if !errors.Is(errs[i], want) {
			t.Errorf("%s: %v", name, errs[i])
		}
		if _, err := store.Trails.Get(t.Context(), flow.ID, name); (err == nil) != (want == nil) {
			t.Errorf("reading %s: %v", name, err)
		}
	}
}

func TestTrailBegunTwiceInABatchDoesNotAffectOthers(t *testing.T) {
	s := newAnnounceFixture(t, 0)
	flow, err := s.Flows.Resolve(t.Context(), s.scope().Org, s.scope().Flow)
	s.Must(err)
	errs := s.Recorder.BeginTogether(t.Context(), s.scope(), flow.ID,
		recording.NamedBegin{Trail: "a"}, recording.NamedBegin{Trail: "a"}, recording.NamedBegin{Trail: "b"})
	for i, want := range []error{nil, storage.ErrExists, nil} {
		if !errors.Is(errs[i], want) {
			t.Errorf("begin %d: got %v, want %v", i, errs[i], want)
		}
	}
	_, err = s.Trails.Get(t.Context(), flow.ID, "b")
	s.Must(err)
}
