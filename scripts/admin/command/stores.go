package command

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"attestry/config"
	"attestry/process"
	"attestry/storage"
)

// session has the open stores of the service and the caller.
type session struct {
	*process.Process
	caller
}

// work is a command on the stores of the service.
type work func(ctx context.Context, s *session, args []string) error

// withStores returns a parser whose action opens the stores of the service and calls f. If another process has the
// embedded database open, that process executes the command. As no command enqueues tasks, it does not connect to
// Redis, nor require its setting.
func withStores(f work) parser { return opened(noRedis, existing(existingObjects(process.Open)), f) }

// readOnly is withStores for work that writes no documents and no objects.
func readOnly(f work) parser {
	return opened(noRedis, existing(existingObjects(process.OpenToRead)), f)
}

// withTenancy is for work on users, organizations and keys. It needs only the database and its settings.
func withTenancy(f work) parser { return opened(onlyDatabase, existing(process.OpenDatabase), f) }

// noRedis and onlyDatabase have defaults for the stores that work does not need.
var (
	noRedis      = map[string]string{"ATTESTRY_REDIS_URL": "redis://localhost"}
	onlyDatabase = map[string]string{"ATTESTRY_OBJECTS_URL": "", "ATTESTRY_REDIS_URL": "redis://localhost"}
)

type opener func(context.Context, config.Settings, *slog.Logger) (*process.Process, error)

// existing returns an opener that fails if there is no embedded database, instead of making an empty one.
func existing(open opener) opener {
	return func(ctx context.Context, settings config.Settings, log *slog.Logger) (*process.Process, error) {
		if database := settings.Stores.Database; database.Engine != config.MongoDB && !process.HasDatabase(database) {
			return nil, fmt.Errorf("there is no database at %s", database.Path)
		}
		return open(ctx, settings, log)
	}
}

// existingObjects is existing for a folder of objects.
func existingObjects(open opener) opener {
	return func(ctx context.Context, settings config.Settings, log *slog.Logger) (*process.Process, error) {
		if objects := settings.Stores.Objects; objects.Engine == config.Filesystem {
			if _, err := os.Stat(objects.Path); err != nil {
				return nil, fmt.Errorf("there is no object store: %w", err)
			}
		}
		return open(ctx, settings, log)
	}
}

func opened(defaults map[string]string, open opener, f work) parser {
	return func(args []string) (action, error) {
		return func(ctx context.Context, c caller) error {
			if c.running != nil {
				return f(ctx, &session{Process: c.running, caller: c}, args)
			}
			if answered, err := c.callRunning(ctx); answered {
				return err
			}
			settings, err := config.LoadFrom(config.Sources{Environ: c.environ, Defaults: defaults})
			if err != nil {
				return err
			}
			p, err := open(ctx, settings, process.NewLog(c.errs, slog.LevelWarn))
			if err != nil {
				return err
			}
			return errors.Join(f(ctx, &session{Process: p, caller: c}, args), p.Close())
		}, nil
	}
}

// done prints the result unless err is set.
func (s *session) done(err error, format string, values ...any) error {
	if err == nil {
		_, err = fmt.Fprintf(s.out, format, values...)
	}
	return err
}

// absent replaces storage.ErrNotFound by a readable error. It returns other errors unchanged.
func absent(err error, format string, values ...any) error {
	if errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf(format, values...)
	}
	return err
}

// roots returns the root certificates of the running service, if there is one, or of the settings.
func (c caller) roots() (*x509.CertPool, error) {
	if c.running != nil {
		return c.running.Roots, nil
	}
	return config.RootsOf(c.environ)
}

// openObjects opens any object store, also one other than that of the service.
func (c caller) openObjects(ctx context.Context, store config.Objects) (storage.Objects, error) {
	roots, err := c.roots()
	if err != nil {
		return nil, err
	}
	return process.OpenObjects(ctx, store, config.Retention{}, roots)
}
