package main

import (
	"context"
	"errors"
	"fmt"

	"attestry/evidence"
	"attestry/evidence/translog"
	"attestry/storage"
)

// logCommands are those for the transparency logs.
func logCommands() []command {
	return []command{
		{"log key", "[--new]", "print the verifier keys of all transparency logs, by which their checkpoints are verified; or, with --new, a new private key for ATTESTRY_LOG_KEY_FILE", parseLogKey, ""},
	}
}

func parseLogKey(args []string) (action, error) {
	switch {
	case len(args) == 0:
		return withStores(printVerifiers), nil
	case len(args) == 1 && args[0] == "--new":
		return printNewKey, nil
	}
	return nil, errUsage
}

func printNewKey(_ context.Context, c caller) error {
	key, err := translog.NewKeyFile()
	if err != nil {
		return err
	}
	_, err = c.out.Write(key)
	return err
}

// printVerifiers prints the keys of the file that the settings name in the form that each log has them. Logs that have
// not begun are left out, as their origins are not fixed.
func printVerifiers(ctx context.Context, s *session) error {
	if s.Settings.Log.KeyFile == "" {
		return errors.New("there is no ATTESTRY_LOG_KEY_FILE, so nothing is logged")
	}
	keys, err := s.Settings.Log.Keys()
	if err != nil {
		return err
	}
	return s.Store.Tenancy.EachOrganization(ctx, func(org *evidence.Organization) error {
		log, err := s.Store.Logs.Get(ctx, org.ID)
		if errors.Is(err, storage.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		verifiers, err := keys.Verifiers(log.Origin)
		for _, verifier := range verifiers {
			fmt.Fprintln(s.out, verifier)
		}
		return err
	})
}
