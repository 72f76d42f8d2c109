package sequencer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"attestry/storage/logs"
)

const (
	// KeepInterval is how often the last checkpoints of logs are to be kept in the object store.
	KeepInterval = 5 * time.Second
	// retainInterval is how often one of them is kept from deletion by those who may delete objects, and retainDays for how
	// many days at most. Most are replaced a moment later.
	retainInterval = 24 * time.Hour
	retainDays     = 30
)

// keeper is what this process knows of the logs that it works on.
type keeper struct {
	mu   sync.Mutex
	logs map[string]*opened // by organization
}

// opened is a log that may be continued.
type opened struct {
	// next is the checkpoint that is to be kept, nil if it is. key is that of the one that it replaces, "" for none.
	next *logs.Kept
	key  string
	// retained is when a checkpoint was kept from deletion.
	retained time.Time
}

// open reports whether a log may be continued. When this process sees it for the first time, it is compared with the last
// checkpoint of it that was kept.
func (s *Sequencer) open(ctx context.Context, log *logs.Log) (bool, error) {
	s.kept.mu.Lock()
	_, known := s.kept.logs[log.Org]
	s.kept.mu.Unlock()
	if known {
		return true, nil
	}
	last, key, err := s.logs.LastKept(ctx, log.Org)
	if err != nil {
		return false, err
	}
	why, err := s.logs.Behind(ctx, log, last)
	if err != nil {
		return false, err
	}
	s.logs.Halt(log, why)
	if why != "" {
		return false, nil
	}
	s.kept.mu.Lock()
	defer s.kept.mu.Unlock()
	s.kept.logs[log.Org] = &opened{key: key}
	return true, nil
}

// signed notes the last checkpoint of a log, for Keep.
func (s *Sequencer) signed(log *logs.Log) {
	s.kept.mu.Lock()
	defer s.kept.mu.Unlock()
	s.kept.logs[log.Org].next = &logs.Kept{Generation: log.Generation, Size: log.Signed, Note: log.Checkpoint}
}

// Retention keeps objects from deletion.
type Retention interface {
	// KeepAtMost keeps an object of an organization, by its name, from deletion for as long as the settings say, but at most
	// for a number of days.
	KeepAtMost(ctx context.Context, org, key string, most int) error
}

// Keep stores the last checkpoints of the logs that were signed since in the object store. Without any it does nothing. It is
// called by one goroutine.
func (s *Sequencer) Keep(ctx context.Context, retention Retention) error {
	for _, org := range s.unkept() {
		if err := s.keep(ctx, org, retention); err != nil {
			return fmt.Errorf("keep a checkpoint of the log of organization %s: %w", org, err)
		}
	}
	return nil
}

func (s *Sequencer) unkept() (orgs []string) {
	s.kept.mu.Lock()
	defer s.kept.mu.Unlock()
	for org, log := range s.kept.logs {
		if log.next != nil {
			orgs = append(orgs, org)
		}
	}
	return orgs
}

func (s *Sequencer) keep(ctx context.Context, org string, retention Retention) error {
	s.kept.mu.Lock()
	log := *s.kept.logs[org]
	s.kept.mu.Unlock()
	key, err := s.logs.Keep(ctx, org, *log.next)
	if err != nil {
		return err
	}
	if now := s.clock(); now.Sub(log.retained) >= retainInterval {
		named, err := s.names.OrganizationOf(ctx, org)
		if err != nil {
			return err
		}
		if err := retention.KeepAtMost(ctx, named.Name, key, retainDays); err != nil {
			return err
		}
		log.retained = now
	}
	if log.key != "" && log.key != key {
		if err := s.logs.Forgo(ctx, log.key); err != nil {
			return err
		}
	}
	s.kept.mu.Lock()
	defer s.kept.mu.Unlock()
	state := s.kept.logs[org]
	state.key, state.retained = key, log.retained
	if state.next == log.next {
		state.next = nil
	}
	return nil
}
