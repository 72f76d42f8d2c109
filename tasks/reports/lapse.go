package reports

import (
	"context"

	"attestry/evidence"
)

// lapse requests the evaluation of environments in which artifacts run whose permission has expired
// (docs/semantics.md 9.5). If a worker is killed in between, the evaluation is requested twice, which changes nothing.
func (s *Sweeper) lapse(ctx context.Context) error {
	expired, err := s.store.Allowlist.Expired(ctx, evidence.Seconds(s.clock()))
	if err != nil {
		return err
	}
	for _, one := range expired {
		// From now on a report that equals the last one is evaluated again.
		if err := s.store.Generations.Bump(ctx, one.Org); err != nil {
			return err
		}
		runs, err := s.store.Running.Runs(ctx, one.Environment, one.Fingerprint)
		if err != nil {
			return err
		}
		if runs {
			environment, err := s.store.Environments.Get(ctx, one.Environment)
			if err != nil {
				return err
			}
			if err := s.intake.Reevaluate(ctx, one.Org, one.Environment, environment.Type, one.UserName); err != nil {
				return err
			}
		}
		if err := s.store.Allowlist.Lapse(ctx, one); err != nil {
			return err
		}
		s.log.Info("an artifact is not permitted any more", "org", one.Org, "environment", one.Environment, "fingerprint", one.Fingerprint)
	}
	return nil
}
