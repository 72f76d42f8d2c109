// Package compaction decides when Pebble compacts.
package compaction

import (
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"attestry/goroutine"
)

// Pause is how long no compaction begins after one has found damage. Pebble repeats a failed compaction at once, and a
// damaged table makes it fail each time.
const Pause = time.Minute

// Scheduler decides when Pebble compacts: as many compactions at once as Pebble allows, none before the database is
// open, as Pebble would wait for them, and none for a while after one has found damage.
type Scheduler struct {
	pause time.Duration
	db    pebble.DBForCompaction
	// wake has an element when a compaction may have become possible.
	wake          chan struct{}
	stop, stopped chan struct{}
	// running counts compactions, held the reasons why none may begin.
	running, held atomic.Int64
}

var _ pebble.CompactionScheduler = (*Scheduler)(nil)

// NewScheduler makes the scheduler of one database, with the pause after damage.
func NewScheduler(pause time.Duration) *Scheduler {
	s := &Scheduler{pause: pause, wake: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{})}
	s.held.Add(1) // until it is open
	return s
}

// Register is called once, while the database is opened.
func (s *Scheduler) Register(_ int, db pebble.DBForCompaction) {
	s.db = db
	goroutine.Start(func() error { s.run(); return nil }, func(error) {})
}

// Opened lets compactions begin.
func (s *Scheduler) Opened() { s.release() }

// Postpone lets no compaction begin during the pause.
func (s *Scheduler) Postpone() {
	s.held.Add(1)
	time.AfterFunc(s.pause, s.release)
}

func (s *Scheduler) release() {
	s.held.Add(-1)
	s.signal()
}

// Unregister returns when the database is not called any more.
func (s *Scheduler) Unregister() {
	close(s.stop)
	<-s.stopped
}

// TrySchedule is called, with the lock of the database held, when there is something to compact. It leaves that to run.
func (s *Scheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	s.signal()
	return false, nil
}

// UpdateGetAllowedWithoutPermission is called when more compactions may be allowed.
func (s *Scheduler) UpdateGetAllowedWithoutPermission() { s.signal() }

func (s *Scheduler) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Scheduler) run() {
	defer close(s.stopped)
	for {
		select {
		case <-s.stop:
			return
		case <-s.wake:
			s.begin()
		}
	}
}

// begin begins the compactions that are possible.
func (s *Scheduler) begin() {
	for s.held.Load() == 0 && s.running.Load() < int64(s.db.GetAllowedWithoutPermission()) {
		s.running.Add(1)
		if waiting, _ := s.db.GetWaitingCompaction(); !waiting || !s.db.Schedule(grant{scheduler: s}) {
			s.running.Add(-1)
			return
		}
	}
}

type grant struct{ scheduler *Scheduler }

func (grant) Started()                                          {}
func (grant) MeasureCPU(pebble.CompactionGoroutineKind)         {}
func (grant) CumulativeStats(pebble.CompactionGrantHandleStats) {}

// Done ends the compaction.
func (g grant) Done() {
	g.scheduler.running.Add(-1)
	g.scheduler.signal()
}
