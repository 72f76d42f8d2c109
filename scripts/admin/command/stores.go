package command

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"

	"attestry/config"
	"attestry/process"
	"attestry/storage"
)

// session is what actions on the stores of the service work with.
type session struct {
	*process.Process
	caller
}

// work is what a command does with the stores of the service and its arguments.
type work func(ctx context.Context, s *session, args []string) error

// withStores makes a parser of f, for which the stores of the service are opened. A process that has an
// embedded database open executes the command itself.
func withStores(f work) parser { return opened(nil, process.Open, f) }

// withoutRedis is withStores for what enqueues nothing: no Redis need be set, as nothing connects to it.
func withoutRedis(f work) parser { return opened(noRedis, process.Open, f) }

// readOnly is withoutRedis for what writes nothing to the stores.
func readOnly(f work) parser { return opened(noRedis, process.OpenToRead, f) }

// withTenancy is for work on users, organizations and keys. The other stores than the database are not needed, nor are
// their settings.
func withTenancy(f work) parser {
	return opened(map[string]string{"ATTESTRY_OBJECTS_URL": "", "ATTESTRY_REDIS_URL": "redis://localhost"}, process.OpenDatabase, f)
}

// noRedis is the default of the settings of actions that enqueue nothing.
var noRedis = map[string]string{"ATTESTRY_REDIS_URL": "redis://localhost"}

type opener func(context.Context, config.Settings, *slog.Logger) (*process.Process, error)

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

// done prints what was done, unless it has failed.
func (s *session) done(err error, format string, values ...any) error {
	if err == nil {
		_, err = fmt.Fprintf(s.out, format, values...)
	}
	return err
}

// absent words storage.ErrNotFound. It returns other errors unchanged.
func absent(err error, format string, values ...any) error {
	if errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf(format, values...)
	}
	return err
}

// roots are the authorities of the service, whose settings a running one has.
func (c caller) roots() (*x509.CertPool, error) {
	if c.running != nil {
		return c.running.Roots, nil
	}
	return config.RootsOf(c.environ)
}

// openObjects opens an object store that may not be that of the service.
func (c caller) openObjects(ctx context.Context, store config.Objects) (storage.Objects, error) {
	roots, err := c.roots()
	if err != nil {
		return nil, err
	}
	return process.OpenObjects(ctx, store, config.Retention{}, roots)
}
