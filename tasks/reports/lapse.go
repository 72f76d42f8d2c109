package reports

import (
	"context"
	"errors"

	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/storage"
	"attestry/tasks/relay"
)

// lapse requests another evaluation of each environment in which the permission of an artifact has expired
// (docs/semantics.md 9.5). If a worker is killed in between, it is requested twice, which changes nothing.
func (s *Sweeper) lapse(ctx context.Context) error {
	expired, err := s.store.Allowlist.Expired(ctx, evidence.Seconds(s.clock()))
	if err != nil {
		return err
	}
	var failures []error
	var requested []job.Ref
	for _, one := range expired {
		ref, err := s.lapseOne(ctx, one)
		if err != nil {
			failures = append(failures, err)
			if ctx.Err() != nil || errors.Is(err, storage.ErrOutage) {
				break
			}
			continue
		}
		requested = append(requested, ref)
		s.log.Info("an artifact is not permitted any more", "org", one.Org, "environment", one.Environment, "fingerprint", one.Fingerprint)
	}
	// A later sweep enqueues those that the queue does not accept now.
	err = relay.EnqueueAll(ctx, s.queues, requested, func(*job.Ref) int64 { return 0 })
	return errors.Join(append(failures, err)...)
}

// lapseOne lets a permission lapse. It returns the task of the requested evaluation.
func (s *Sweeper) lapseOne(ctx context.Context, expired evidence.Allowance) (job.Ref, error) {
	// From now on a report that equals the last one is evaluated again.
	if err := s.store.Generations.Bump(ctx, expired.Org); err != nil {
		return job.Ref{}, err
	}
	environment, err := s.store.Environments.Get(ctx, expired.Environment)
	if err != nil {
		return job.Ref{}, err
	}
	ref, err := s.intake.reevaluate(ctx, expired.Org, expired.Environment, environment.Type, expired.UserName)
	if err != nil {
		return job.Ref{}, err
	}
	return ref, s.store.Allowlist.Lapse(ctx, expired)
}
