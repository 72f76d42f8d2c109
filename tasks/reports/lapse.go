package reports

import (
	"context"

	"attestry/evidence"
)

// lapse has environments evaluated again in which artifacts run that are not permitted any more (docs/semantics.md 9.5). An
// evaluation that is asked for twice, as a worker was killed in between, changes nothing.
func (s *Sweeper) lapse(ctx context.Context) error {
	expired, err := s.store.Allowlist.Expired(ctx, evidence.Seconds(s.clock()))
	if err != nil {
		return err
	}
	for _, one := range expired {
		// From now on a report like the last one is judged again.
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
