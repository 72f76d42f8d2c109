package sequencer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"attestry/storage/logs"
)

const (
	// searchInterval is the time between two searches for leaves of all times, in seconds.
	searchInterval = 10.0
	// searchMargin is how long before the last indexed leaf the other searches begin, in seconds. Processes store leaves a
	// little after their times, and clocks differ.
	searchMargin = 1.0
)

// opened is the cached state of a log that this process continues.
type opened struct {
	// next is the checkpoint to store in the object store, nil if it is stored.
	next atomic.Pointer[logs.Kept]
	// key is that of the stored checkpoint, replaced that of the one before, "" for none, and retained when the retention
	// of one was last set.
	key, replaced string
	retained      time.Time

	mu sync.Mutex
	// lastIndexedAt is the time of the last leaf that got an index, searchedAt that of the last search of all times, in
	// Unix seconds.
	lastIndexedAt, searchedAt float64
}

// open returns the state of a log, nil if the log must not be continued. Until it has returned one, each call compares
// the log with the last checkpoint in the object store.
func (s *Sequencer) open(ctx context.Context, log *logs.Log) (*opened, error) {
	if known, ok := s.opened.Load(log.Org); ok {
		return known.(*opened), nil
	}
	last, key, err := s.logs.LastKept(ctx, log.Org)
	if err != nil {
		return nil, err
	}
	why, err := s.logs.CheckConsistent(ctx, log, last)
	if err != nil {
		return nil, err
	}
	s.logs.Halt(log, why)
	if why != "" {
		return nil, nil
	}
	known, _ := s.opened.LoadOrStore(log.Org, &opened{key: key})
	return known.(*opened), nil
}

// since returns the time from which leaves are to be searched, 0 for all times.
func (o *opened) since(now float64) float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now < o.searchedAt { // the clock was set back, and so are the times of new leaves
		o.lastIndexedAt = 0
	}
	if now < o.searchedAt || now >= o.searchedAt+searchInterval {
		return 0
	}
	return max(0, o.lastIndexedAt-searchMargin)
}

func (o *opened) setIndexed(at float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lastIndexedAt = max(o.lastIndexedAt, at)
}

func (o *opened) setSearched(at float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.searchedAt = at
}
