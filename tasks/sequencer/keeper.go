package sequencer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"attestry/storage"
	"attestry/storage/retention"
)

const (
	// KeepInterval is how often the last checkpoints of logs are to be kept in the object store.
	KeepInterval = 5 * time.Second
	// retainInterval is how often one of them is kept from deletion, and retainDays for how many days at most. The others are
	// replaced a moment later.
	retainInterval = 24 * time.Hour
	retainDays     = 30
)

// Keep stores the last checkpoints of the logs that were signed since in the object store. Without any it does nothing. It is
// called by one goroutine. What fails for one organization does not keep the others waiting, but for an outage.
func (s *Sequencer) Keep(ctx context.Context, retention *retention.Retention) error {
	var faults []error
	s.opened.Range(func(org, log any) bool {
		err := s.keep(ctx, org.(string), log.(*opened), retention)
		if err != nil {
			faults = append(faults, fmt.Errorf("keep a checkpoint of the log of organization %v: %w", org, err))
		}
		return ctx.Err() == nil && !errors.Is(err, storage.ErrOutage)
	})
	return errors.Join(faults...)
}

func (s *Sequencer) keep(ctx context.Context, org string, log *opened, retention *retention.Retention) (err error) {
	next := log.next.Load()
	if next == nil {
		return nil
	}
	if log.key, err = s.logs.Keep(ctx, org, next, log.key); err != nil {
		return err
	}
	if now := s.clock(); now.Sub(log.retained) >= retainInterval {
		named, err := s.names.OrganizationOf(ctx, org)
		if err != nil {
			return err
		}
		if err := retention.KeepAtMost(ctx, named.Name, log.key, retainDays); err != nil {
			return err
		}
		log.retained = now
	}
	log.next.CompareAndSwap(next, nil)
	return nil
}
