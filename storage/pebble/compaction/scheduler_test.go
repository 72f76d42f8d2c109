package compaction

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// eagerDatabase always wants to compact.
type eagerDatabase struct {
	begun chan pebble.CompactionGrantHandle
}

func (eagerDatabase) GetAllowedWithoutPermission() int { return 1 }
func (eagerDatabase) GetWaitingCompaction() (bool, pebble.WaitingCompaction) {
	return true, pebble.WaitingCompaction{}
}
func (d eagerDatabase) Schedule(handle pebble.CompactionGrantHandle) bool {
	d.begun <- handle
	return true
}

func TestNoCompactionBeginsBeforeTheDatabaseIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, db := NewScheduler(time.Minute), eagerDatabase{make(chan pebble.CompactionGrantHandle, 9)}
		s.Register(1, db)
		defer s.Unregister()
		if early, _ := s.TrySchedule(); early {
			t.Error("a compaction is allowed")
		}
		s.UpdateGetAllowedWithoutPermission()
		if synctest.Wait(); len(db.begun) > 0 {
			t.Error("a compaction has begun")
		}
		s.Opened()
		if synctest.Wait(); len(db.begun) != 1 {
			t.Errorf("%d compactions have begun since", len(db.begun))
		}
	})
}

func TestCompactionsWaitAfterDamage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, db := NewScheduler(time.Minute), eagerDatabase{make(chan pebble.CompactionGrantHandle, 9)}
		s.Register(1, db)
		defer s.Unregister()
		s.opened = true
		ok, first := s.TrySchedule()
		if again, _ := s.TrySchedule(); !ok || again {
			t.Fatalf("the first compaction is allowed: %v, one beside it: %v", ok, again)
		}
		s.Postpone()
		began := time.Now()
		first.Done()
		second := <-db.begun
		if waited := time.Since(began); waited != time.Minute {
			t.Errorf("the next compaction began after %v", waited)
		}
		second.Done()
		<-db.begun
		if waited := time.Since(began); waited != time.Minute {
			t.Errorf("without damage the next one began after %v", waited)
		}
	})
}
