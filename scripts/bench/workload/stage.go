package workload

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"attestry/evidence"
	"attestry/process"
	"attestry/scripts/bench/baseline"
	"attestry/scripts/standalone/instance"
	"attestry/tasks/snapshot"
)

// organization is where the benchmarks play, by a user of the same name.
const organization = "bench"

// Engines are addresses of real services, "" for the embedded ones.
type Engines struct {
	Redis, MongoDB, S3 string
}

// stage is what a row is played on: a fresh service, and the bare handler beside
// it.
type stage struct {
	instance *instance.Instance
	bare     *baseline.Server
	log      *os.File
	key      string
	// scope sets the environments apart from those of other rows and runs, in a
	// database that outlives them.
	scope string
}

// openStage starts both. The service logs as in production, into a file.
func openStage(ctx context.Context, on Engines, folder string) (s *stage, err error) {
	s = &stage{scope: evidence.NewID(), key: evidence.NewAPIKey().Reveal()}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.log, err = os.Create(filepath.Join(folder, "log")); err != nil {
		return s, err
	}
	s.instance, err = instance.Start(ctx, instance.Options{
		Listen: "127.0.0.1:0", Data: folder,
		Redis: on.Redis, MongoDB: on.MongoDB, S3: on.S3,
		ReportWait: snapshot.MaxWait,
		Clock:      time.Now,
		Log:        process.NewLog(s.log, slog.LevelInfo),
	})
	if err != nil {
		return s, err
	}
	if s.bare, err = baseline.Start(); err != nil {
		return s, err
	}
	return s, s.populate(ctx)
}

func (s *stage) populate(ctx context.Context) error {
	_, err := s.instance.Process.Store.Tenancy.ApplyBootstrap(ctx, evidence.Bootstrap{
		Users: []evidence.DeclaredUser{{
			Name: organization,
			Keys: []evidence.DeclaredKey{{
				Secret:      evidence.Secret(s.key),
				Description: "benchmark",
				ExpiresAt:   time.Now().Add(24 * time.Hour).Unix(),
			}},
		}},
	})
	return err
}

// client makes a client of the service.
func (s *stage) client() *client {
	return newClient(strings.TrimPrefix(s.instance.URL, "http://"), s.key)
}

// environment declares a Kubernetes environment that nobody else uses, and
// returns its name.
func (s *stage) environment(by *client, suffix string) (string, error) {
	name := s.scope + "-" + suffix
	body := []byte(`{"name":"` + name + `","type":"K8S","description":"A cluster of the benchmark"}`)
	return name, by.put("/api/v2/environments/"+organization, body, answer{status: http.StatusCreated})
}

func (s *stage) close() error {
	var faults []error
	if s.bare != nil {
		faults = append(faults, s.bare.Close())
	}
	if s.instance != nil {
		faults = append(faults, s.instance.Close())
	}
	if s.log != nil {
		faults = append(faults, s.log.Close())
	}
	return errors.Join(faults...)
}
