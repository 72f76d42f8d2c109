package workload

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/evidence/translog"
	"attestry/process"
	"attestry/scripts/bench/benchtest/baseline"
	"attestry/scripts/standalone/instance"
	"attestry/tasks/reports"
)

// organization is the name of the only organization and of its only user.
const organization = "bench"

// writers is the number of goroutines of concurrently.
const writers = 16

// Engines are addresses of real engines, or "" for the embedded ones.
type Engines struct {
	Redis, MongoDB, S3 string
}

// fixture is a new service with one user, and a baseline.
type fixture struct {
	instance *instance.Instance
	baseline *baseline.Server
	// data is the directory of the embedded engines.
	data string
	log  *os.File
	// address is host:port of the service.
	address string
	key     string
	store   *app.Store
	org     string // id
	// receiver gets notifications. It is nil if the workload has none.
	receiver *receiver
	// scope is a prefix that makes names and images unique among the runs on a database.
	scope string
}

// openFixture starts the service and the baseline. The service keeps transparency logs if logged is set or the
// environment of this process has a key.
func openFixture(ctx context.Context, engines Engines, directory string, logged bool) (f *fixture, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f = &fixture{scope: evidence.NewID(), key: evidence.NewAPIKey().Reveal()}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	if f.data, err = os.MkdirTemp(directory, "workload-"); err != nil {
		return f, err
	}
	if f.log, err = os.Create(filepath.Join(f.data, "log")); err != nil {
		return f, err
	}
	logKey := os.Getenv("ATTESTRY_LOG_KEY_FILE")
	if logged && logKey == "" {
		if logKey, err = instance.KeyFile(f.data, "log.key", translog.NewKeyFile); err != nil {
			return f, err
		}
	}
	f.instance, err = instance.Start(ctx, instance.Options{
		Listen: "127.0.0.1:0", Data: f.data,
		Redis: engines.Redis, Database: engines.MongoDB, S3: engines.S3,
		ReportWait: reports.MaxWait,
		Environ:    []string{"ATTESTRY_OUTBOUND_ALLOW=127.0.0.1", "ATTESTRY_LOG_KEY_FILE=" + logKey},
		Clock:      time.Now,
		Log:        process.NewLog(f.log, slog.LevelInfo),
	})
	if err != nil {
		return f, err
	}
	f.address, f.store = strings.TrimPrefix(f.instance.URL, "http://"), f.instance.Process.Store
	if f.baseline, err = baseline.Start(); err != nil {
		return f, err
	}
	return f, f.createUser(ctx)
}

func (f *fixture) createUser(ctx context.Context) error {
	_, err := f.store.Tenancy.ApplyBootstrap(ctx, identity.Bootstrap{
		Users: []identity.DeclaredUser{{Name: organization, Keys: []identity.DeclaredKey{{
			Secret: evidence.Secret(f.key), Description: "benchmark", ExpiresAt: time.Now().Add(24 * time.Hour).Unix(),
		}}}},
	})
	if err != nil {
		return err
	}
	created, err := f.store.Tenancy.Organization(ctx, organization)
	f.org = created.ID
	return err
}

// flow is the name of the flow that pipelines report to. The first report creates it.
func (f *fixture) flow() string { return f.scope + "-pipeline" }

// path replaces placeholders in a path of the API: {org}, {flow}, and {history}, the environment of seedHistory.
func (f *fixture) path(path string) string {
	return "/api/v2" + strings.NewReplacer("{org}", organization, "{flow}", f.flow(), "{history}", f.scope+"-history").Replace(path)
}

func (f *fixture) createEnvironment(by *connection, suffix string) (string, error) {
	name := f.scope + "-" + suffix
	_, err := by.send(request{
		method: http.MethodPut, path: f.path("/environments/{org}"),
		body: []byte(`{"name":"` + name + `","type":"K8S","description":"A cluster of the benchmark"}`),
		want: answer{status: http.StatusCreated},
	})
	return name, err
}

func (f *fixture) close() error {
	var errs []error
	if f.receiver != nil {
		errs = append(errs, f.receiver.close())
	}
	if f.baseline != nil {
		errs = append(errs, f.baseline.Close())
	}
	if f.instance != nil {
		errs = append(errs, f.instance.Close())
	}
	if f.log != nil {
		errs = append(errs, f.log.Close())
	}
	return errors.Join(errs...)
}

// concurrently calls do with each number from 0 to n-1. A goroutine ends after an error.
func concurrently(n int, do func(i int) error) error {
	errs := make([]error, writers)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := w; i < n && errs[w] == nil; i += writers {
				errs[w] = do(i)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
