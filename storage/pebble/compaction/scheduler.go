// Package compaction decides when Pebble compacts.
package compaction

import (
	"sync"
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

	mu      sync.Mutex
	running int
	opened  bool
	paused  bool
	ended   bool
}

var _ pebble.CompactionScheduler = (*Scheduler)(nil)

// NewScheduler makes the scheduler of one database, with the pause after damage.
func NewScheduler(pause time.Duration) *Scheduler {
	return &Scheduler{pause: pause, wake: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{})}
}

// Register is called once, while the database is opened.
func (s *Scheduler) Register(_ int, db pebble.DBForCompaction) {
	s.db = db
	goroutine.Start(func() error { s.run(); return nil }, func(error) {})
}

// Opened lets compactions begin.
func (s *Scheduler) Opened() {
	s.mu.Lock()
	s.opened = true
	s.mu.Unlock()
	s.signal()
}

// Unregister returns when the database is not called any more.
func (s *Scheduler) Unregister() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	close(s.stop)
	<-s.stopped
}

// TrySchedule asks for permission for one compaction. The database calls it with its lock held.
func (s *Scheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	if s.begin() {
		return true, grant{s}
	}
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

// begin counts a compaction as running if one more is allowed.
func (s *Scheduler) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || !s.opened || s.paused || s.running >= s.db.GetAllowedWithoutPermission() {
		return false
	}
	s.running++
	return true
}

// Postpone lets no compaction begin during the pause.
func (s *Scheduler) Postpone() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused {
		return
	}
	s.paused = true
	time.AfterFunc(s.pause, func() {
		s.mu.Lock()
		s.paused = false
		s.mu.Unlock()
		s.signal()
	})
}

// run begins compactions that were refused before. It does not hold the lock while it calls the database, as that calls
// TrySchedule with its own lock held.
func (s *Scheduler) run() {
	defer close(s.stopped)
	for {
		select {
		case <-s.stop:
			return
		case <-s.wake:
		}
		for s.begin() {
			if waiting, _ := s.db.GetWaitingCompaction(); !waiting || !s.db.Schedule(grant{s}) {
				s.release()
				break
			}
		}
	}
}

func (s *Scheduler) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
}

type grant struct{ scheduler *Scheduler }

func (grant) Started()                                          {}
func (grant) MeasureCPU(pebble.CompactionGoroutineKind)         {}
func (grant) CumulativeStats(pebble.CompactionGrantHandleStats) {}

// Done ends the compaction.
func (g grant) Done() {
	g.scheduler.release()
	g.scheduler.signal()
}
