package storage_test

import (
	"path/filepath"
	"testing"
	"time"

	"attestry/storage"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/storagetest"
)

func TestLeaseIsRenewedOnlyInItsSecondHalf(t *testing.T) {
	counting := storagetest.NewCountingDocuments(pebbletest.Open(t, filepath.Join(t.TempDir(), "leases"), []*storage.Schema{storage.LeaseSchema}))
	now := time.Unix(1_000, 0)
	clock := func() time.Time { return now }
	holders := map[string]*storage.Leases{"a": storage.NewLeases(counting, clock), "b": storage.NewLeases(counting, clock)}
	for _, step := range []struct {
		name   string
		after  time.Duration
		holder string
		has    bool
		writes int
	}{
		{"free lease", 0, "a", true, 1},
		{"another holder", time.Second, "b", false, 0},
		{"more than half is left", 28 * time.Second, "a", true, 0},
		{"less than half is left", 2 * time.Second, "a", true, 1},
		{"another holder before the renewed lease ends", 59 * time.Second, "b", false, 0},
		{"expired lease", 2 * time.Second, "b", true, 1},
		{"the clock was set back", -time.Hour, "b", true, 1},
		{"another holder whose clock is a bit behind", -30 * time.Second, "a", false, 0},
		{"another holder whose clock is far behind", -time.Hour, "a", true, 1},
	} {
		now = now.Add(step.after)
		counting.Reset()
		has, err := holders[step.holder].Acquire(t.Context(), "job", time.Minute)
		costs := counting.Snapshot()
		if err != nil || has != step.has || costs.Writes != step.writes {
			t.Errorf("%s: has it: %v, %d writes, %v", step.name, has, costs.Writes, err)
		}
	}
}

func TestLeaseThatAnotherHolderTakesFirstIsNotHeld(t *testing.T) {
	docs := pebbletest.Open(t, filepath.Join(t.TempDir(), "leases"), []*storage.Schema{storage.LeaseSchema})
	clock := func() time.Time { return time.Unix(1_000, 0) }
	// The other process takes the lease after this one has read that it is free.
	injector := storagetest.NewFaultInjector(docs, storagetest.Fault{At: 2, Before: func() {
		if has, err := storage.NewLeases(docs, clock).Acquire(t.Context(), "job", time.Minute); !has || err != nil {
			t.Errorf("the other holder has it: %v, %v", has, err)
		}
	}})
	has, err := storage.NewLeases(injector, clock).Acquire(t.Context(), "job", time.Minute)
	if has || err != nil || !injector.Reached.Load() {
		t.Errorf("has it: %v, %v", has, err)
	}
}

func TestLeaseIsNotHeldAfterAnError(t *testing.T) {
	open := func() storage.Documents {
		return pebbletest.Open(t, filepath.Join(t.TempDir(), "leases"), []*storage.Schema{storage.LeaseSchema})
	}
	storagetest.EachFailure(t, 4, open, func(docs storage.Documents) error {
		var at int64
		leases := storage.NewLeases(docs, func() time.Time { return time.Unix(at, 0) })
		for _, at = range []int64{1_000, 1_040} { // it is renewed then
			if has, err := leases.Acquire(t.Context(), "job", time.Minute); err != nil || !has {
				if has {
					t.Errorf("at %d it is held despite %v", at, err)
				}
				return err
			}
		}
		return nil
	})
}
