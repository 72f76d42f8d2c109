package sequencer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"attestry/storage/logs"
)

const (
	// searchInterval is after how many seconds the leaves of all times are looked for again.
	searchInterval = 10.0
	// searchMargin is how many seconds before the last leaf leaves are looked for otherwise. Processes store leaves a little
	// after the times that they have, and their clocks differ.
	searchMargin = 1.0
)

// opened is a log that this process continues. What it knows is lost with the process, which costs time only.
type opened struct {
	// next is the checkpoint that is to be kept, nil if it is.
	next atomic.Pointer[logs.Kept]
	// key is that of the checkpoint that is kept, "" for none, and retained when one was kept from deletion.
	key      string
	retained time.Time

	mu sync.Mutex
	// placed is the time of the last leaf that got a place, and searched when leaves of all times were looked for last, in
	// Unix seconds.
	placed, searched float64
}

// open returns the state of a log, nil if the log must not be continued. When this process sees it for the first time, it is
// compared with the last checkpoint of it that was kept.
func (s *Sequencer) open(ctx context.Context, log *logs.Log) (*opened, error) {
	if known, ok := s.opened.Load(log.Org); ok {
		return known.(*opened), nil
	}
	last, key, err := s.logs.LastKept(ctx, log.Org)
	if err != nil {
		return nil, err
	}
	why, err := s.logs.Behind(ctx, log, last)
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

// since returns from which time on leaves are to be looked for, 0 for all times.
func (o *opened) since(now float64) float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now < o.searched || now >= o.searched+searchInterval {
		return 0
	}
	return max(0, o.placed-searchMargin)
}

func (o *opened) notePlaced(at float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.placed = max(o.placed, at)
}

func (o *opened) noteSearched(at float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.searched = at
}
