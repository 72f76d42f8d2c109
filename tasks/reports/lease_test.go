package reports

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/goroutine"
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/storagetest"
)

type deaf struct{}

func (deaf) PublishChange(context.Context, string) {}

// newLeaseScene makes a processor and an environment for it.
func newLeaseScene(t *testing.T, wrap func(storage.Documents) storage.Documents) (*Processor, string) {
	t.Helper()
	folder := t.TempDir()
	docs := pebbletest.Open(t, filepath.Join(folder, "documents"), app.Schemas())
	objects, err := filesystem.Open(filepath.Join(folder, "objects"))
	evidencetest.Must(t, err)
	log := slog.New(slog.DiscardHandler)
	plain := app.NewStore(docs, objects, time.Now, log)
	t.Cleanup(plain.Tenancy.Close)
	environment := evidence.Environment{ID: evidence.NewID(), Org: "org", Name: "env", Type: evidence.Server}
	if _, err := plain.Environments.Put(t.Context(), environment, evidence.EnvironmentChange{}); err != nil {
		t.Fatal(err)
	}
	store := app.NewStore(wrap(docs), objects, time.Now, log)
	t.Cleanup(store.Tenancy.Close)
	return NewProcessor(store, deaf{}, time.Now, log, func(string) {}), environment.ID
}

func unwrapped(docs storage.Documents) storage.Documents { return docs }

// TestReportsAreProcessedAfterAWorkerWhoseClockWasAhead has a worker that was killed with the lease.
func TestReportsAreProcessedAfterAWorkerWhoseClockWasAhead(t *testing.T) {
	p, environment := newLeaseScene(t, unwrapped)
	ahead := NewProcessor(p.store, deaf{}, func() time.Time { return time.Now().Add(time.Hour) }, p.log, func(string) {})
	for _, worker := range []*Processor{ahead, p} {
		if h, err := worker.acquireLease(t.Context(), environment); err != nil || h == nil {
			t.Errorf("the lease is %v, %v", h, err)
		}
	}
}

// TestRenewalAfterTheReleaseTakesNoLease renews a lease that was just released, like a renewal that had to wait for the
// release.
func TestRenewalAfterTheReleaseTakesNoLease(t *testing.T) {
	p, environment := newLeaseScene(t, unwrapped)
	h, err := p.acquireLease(t.Context(), environment)
	if err != nil || h == nil {
		t.Fatal(h, err)
	}
	evidencetest.Must(t, p.commit(t.Context(), h, clearLease))
	evidencetest.Is(t, p.renewOnce(t.Context(), h), errLeaseLost)
	if again, err := p.acquireLease(t.Context(), environment); err != nil || again == nil {
		t.Errorf("the lease was not acquired again: %v", err)
	}
}

func TestDrainFailsIfItCannotAcquireTheLease(t *testing.T) {
	// All replacements fail, as if another process had changed the document.
	p, environment := newLeaseScene(t, func(docs storage.Documents) storage.Documents {
		return storagetest.BeforeWrites(docs, func(write storage.Write) error {
			if write.Kind == storage.WriteReplace {
				return &storage.RefusedWrite{Reason: storage.ErrMoved}
			}
			return nil
		})
	})
	if err := p.Drain(t.Context(), environment); evidence.CodeOf(err) != evidence.Unavailable {
		t.Errorf("the drain returned %v", err)
	}
}

func TestRenewalThatPanicsEndsTheProcessing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Processor{}
		ctx, release := p.renewLease(t.Context(), &lease{}) // a processor without a store panics
		<-ctx.Done()
		evidencetest.Is(t, context.Cause(ctx), goroutine.ErrPanicked)
		release()
	})
}
