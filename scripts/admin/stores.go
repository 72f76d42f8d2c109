package main

import (
	"context"
	"errors"
	"log/slog"

	"attestry/config"
	"attestry/process"
)

// session is what actions on the stores of the service work with.
type session struct {
	*process.Process
	caller
}

// withStores makes an action of f, for which the stores of the service are opened.
func withStores(f func(ctx context.Context, s *session) error) action {
	return func(ctx context.Context, c caller) error {
		settings, err := config.Load(c.environ)
		if err != nil {
			return err
		}
		p, err := process.Open(ctx, settings, process.NewLog(c.errs, slog.LevelWarn))
		if err != nil {
			return err
		}
		return errors.Join(f(ctx, &session{Process: p, caller: c}), p.Close())
	}
}
