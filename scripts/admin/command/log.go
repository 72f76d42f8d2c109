package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"attestry/evidence"
	"attestry/evidence/translog"
	"attestry/storage"
	"attestry/storage/logs"
)

func parseLogKey(args []string) (action, error) {
	switch {
	case len(args) == 0:
		return withStores(printVerifiers)(args)
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

// continueLog begins another log for an organization, which workers extend from now on.
func continueLog(ctx context.Context, s *session, args []string) error {
	keys, err := logKeys(s)
	if err != nil {
		return err
	}
	found, err := s.organization(ctx, args[0])
	if err != nil {
		return err
	}
	log, err := s.Store.Logs.Continue(ctx, found.ID)
	if err != nil {
		return fmt.Errorf("no new log is begun for %s: %w", args[0], err)
	}
	return printVerifiersOf(s, keys, &log)
}

func logKeys(s *session) (translog.Keys, error) {
	if s.Settings.Log.KeyFile == "" {
		return nil, errors.New("there is no ATTESTRY_LOG_KEY_FILE, so nothing is logged")
	}
	return s.Settings.Log.Keys()
}

// printVerifiers prints the verifier keys of each log, derived from the key file of the settings. It skips logs without
// entries, whose origins are not fixed yet.
func printVerifiers(ctx context.Context, s *session, _ []string) error {
	keys, err := logKeys(s)
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
		return printVerifiersOf(s, keys, &log)
	})
}

func printVerifiersOf(s *session, keys translog.Keys, log *logs.Log) error {
	_, err := fmt.Fprintln(s.out, strings.Join(keys.Verifiers(log.Origin), "\n"))
	return err
}
