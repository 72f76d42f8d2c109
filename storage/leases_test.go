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
	leases := storage.NewLeases(counting, func() time.Time { return now })
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
	} {
		now = now.Add(step.after)
		counting.Reset()
		has, err := leases.Acquire(t.Context(), "job", step.holder, time.Minute)
		costs := counting.Snapshot()
		if err != nil || has != step.has || costs.Writes != step.writes {
			t.Errorf("%s: has it: %v, %d writes, %v", step.name, has, costs.Writes, err)
		}
	}
}
