package apitest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"attestry/config"
	"attestry/process"
	"attestry/storage"
	worker "attestry/worker/server"
)

// Environment variables that turn this test binary into a worker process with the settings of the service. It is killed
// before the n-th write to a collection.
const (
	dyingWorker    = "ATTESTRY_TEST_DYING_WORKER"
	fatalWrite     = "ATTESTRY_TEST_FATAL_WRITE"
	fatalWriteForm = "%s %d"
)

// AwaitTask waits until the dispatcher has enqueued a task.
func (s *Service) AwaitTask() {
	s.T.Helper()
	Eventually(s.T, "the task is enqueued", func() bool {
		keys, err := s.Process.Redis.Keys(s.T.Context(), "asynq:{reports}:t:*").Result()
		return err == nil && len(keys) > 0
	})
}

// RunWorker starts a worker within the service.
func (s *Service) RunWorker() {
	s.T.Helper()
	ctx, stop := context.WithCancel(context.Background())
	if err := s.StartWorker(ctx); err != nil {
		stop()
		s.T.Fatal(err)
	}
	s.T.Cleanup(stop)
}

// startRedis starts a Redis in memory for a test and returns its address.
func startRedis(t *testing.T) string {
	t.Helper()
	server := miniredis.RunT(t)
	server.ClockTTL(true)
	return "redis://" + server.Addr()
}

// RunDyingWorker runs a worker process until it is killed before its n-th write to a collection. With Pebble, which
// only one process can open, the service is stopped meanwhile.
func (s *Service) RunDyingWorker(collection string, n int) {
	s.T.Helper()
	work := func() { s.workUntilKilled(collection, n) }
	if s.Process.Settings.Stores.Database.Engine == config.Pebble {
		s.Restart(work)
	} else {
		work()
	}
}

func (s *Service) workUntilKilled(collection string, n int) {
	s.T.Helper()
	command := exec.CommandContext(s.T.Context(), os.Args[0])
	command.Env = append(os.Environ(), dyingWorker+"="+strings.Join(s.Environment, "\n"),
		fatalWrite+"="+fmt.Sprintf(fatalWriteForm, collection, n))
	output, err := command.CombinedOutput()
	state, ok := command.ProcessState.Sys().(syscall.WaitStatus)
	if err == nil || !ok || state.Signal() != syscall.SIGKILL {
		s.T.Fatalf("the worker was not killed: %v\n%s", err, output)
	}
}

// work runs the worker process that gets killed.
func work() {
	if err := workUntilKilled(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func workUntilKilled() error {
	settings, err := config.Load(strings.Split(os.Getenv(dyingWorker), "\n"))
	if err != nil {
		return err
	}
	settings.Worker.Concurrency, settings.Process.ShutdownTimeout = 1, time.Second
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	log := slog.New(slog.NewTextHandler(os.Stdout, nil))
	p, err := process.OpenWith(ctx, settings, log, time.Now, func(docs storage.Documents) storage.Documents {
		return newFatalDocuments(docs)
	})
	if err != nil {
		return err
	}
	w, err := worker.New(p)
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// fatalDocuments kills its process instead of making a write.
type fatalDocuments struct {
	storage.Documents
	collection string
	left       atomic.Int64
}

func newFatalDocuments(docs storage.Documents) *fatalDocuments {
	d := &fatalDocuments{Documents: docs}
	var n int64
	if _, err := fmt.Sscanf(os.Getenv(fatalWrite), fatalWriteForm, &d.collection, &n); err != nil {
		panic(err)
	}
	d.left.Store(n)
	return d
}

func (d *fatalDocuments) count(collection string) {
	if collection == d.collection && d.left.Add(-1) == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (d *fatalDocuments) Write(ctx context.Context, writes ...storage.Write) error {
	for _, write := range writes {
		d.count(write.Schema.Name)
	}
	return d.Documents.Write(ctx, writes...)
}
