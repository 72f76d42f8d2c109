package reports

import (
	"context"
	"errors"

	"attestry/evidence"
	"attestry/storage"
)

// lapse requests the evaluation of environments in which artifacts run whose permission has expired
// (docs/semantics.md 9.5). If a worker is killed in between, the evaluation is requested twice, which changes nothing.
func (s *Sweeper) lapse(ctx context.Context) error {
	expired, err := s.store.Allowlist.Expired(ctx, evidence.Seconds(s.clock()))
	if err != nil {
		return err
	}
	var failures []error
	for _, one := range expired {
		if err := s.lapseOne(ctx, one); err != nil {
			failures = append(failures, err)
			if ctx.Err() != nil || errors.Is(err, storage.ErrOutage) {
				break
			}
			continue
		}
		s.log.Info("an artifact is not permitted any more", "org", one.Org, "environment", one.Environment, "fingerprint", one.Fingerprint)
	}
	return errors.Join(failures...)
}

func (s *Sweeper) lapseOne(ctx context.Context, expired evidence.Allowance) error {
	// From now on a report that equals the last one is evaluated again.
	if err := s.store.Generations.Bump(ctx, expired.Org); err != nil {
		return err
	}
	runs, err := s.store.Running.Runs(ctx, expired.Environment, expired.Fingerprint)
	if err != nil {
		return err
	}
	if runs {
		environment, err := s.store.Environments.Get(ctx, expired.Environment)
		if err != nil {
			return err
		}
		if err := s.intake.Reevaluate(ctx, expired.Org, expired.Environment, environment.Type, expired.UserName); err != nil {
			return err
		}
	}
	return s.store.Allowlist.Lapse(ctx, expired)
}
