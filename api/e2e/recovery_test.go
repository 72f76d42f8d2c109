package e2e_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"attestry/config"
	"attestry/evidence"
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

const acceptedText = "report accepted, it will be processed"

func TestReportSurvivesRedisForgettingEverything(t *testing.T) {
	t.Parallel()
	s := start(t, options{real: true, withoutWorker: true, reportWait: time.Millisecond})
	s.createEnvironment("host", evidence.Server)
	got := s.want(http.StatusOK, http.MethodPut, s.environmentsPath()+"/host/report/server", serverReport("a"))
	if got.text(t) != acceptedText {
		t.Errorf("answered %s", got.body)
	}
	s.awaitTask()
	if err := s.Process.Redis.FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	s.clock.advance(time.Minute)
	s.startWorker()
	s.awaitSnapshot("host")
}

func TestReportSurvivesAKilledWorker(t *testing.T) {
	t.Parallel()
	s := start(t, options{real: true, keepsRedis: true, withoutWorker: true, reportWait: time.Millisecond})
	s.createEnvironment("host", evidence.Server)
	s.want(http.StatusOK, http.MethodPut, s.environmentsPath()+"/host/report/server", serverReport("a"))
	s.awaitTask()
	s.runDyingWorker("snapshots", 1)
	if latest, err := s.Process.Store.Snapshots.LastNumber(t.Context(), s.environmentID("host")); err != nil || latest != 0 {
		t.Fatalf("%d snapshots before the second worker, %v", latest, err)
	}
	// The lease of the killed worker runs out; its task is still active in Redis.
	s.clock.advance(time.Minute)
	s.startWorker()
	s.awaitSnapshot("host")
}

func TestReportsAreAcceptedWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	if testRedis != "" {
		t.Skip("stops its Redis, which is not its own here")
	}
	s := start(t, options{real: true, withoutWorker: true, reportWait: time.Second})
	s.startWorker()
	s.createEnvironment("host", evidence.Server)
	s.stopRedis()
	got := s.want(http.StatusOK, http.MethodPut, s.environmentsPath()+"/host/report/server", serverReport("a"))
	if got.text(t) != acceptedText {
		t.Errorf("answered %s", got.body)
	}
	if got := s.do(http.MethodGet, "/ready", "", nil); got.status != http.StatusOK || string(got.body) != "OK" {
		t.Errorf("/ready without Redis: %d %s", got.status, got.body)
	}
	if err := s.Redis.Restart(); err != nil {
		t.Fatal(err)
	}
	s.clock.advance(time.Minute)
	s.awaitSnapshot("host")
}

// TestOneProcessNeedsNoRedisForItsTasks does not advance the clock: no sweep finds the report.
func TestOneProcessNeedsNoRedisForItsTasks(t *testing.T) {
	t.Parallel()
	if testRedis != "" {
		t.Skip("stops its Redis, which is not its own here")
	}
	s := start(t, options{real: true, reportWait: time.Millisecond})
	s.createEnvironment("host", evidence.Server)
	s.stopRedis()
	s.do(http.MethodPut, "/api/v2"+s.environmentsPath()+"/host/report/server", adminKey, serverReport("a"))
	s.awaitSnapshot("host")
}

// awaitTask waits until the dispatcher has enqueued a task.
func (s *service) awaitTask() {
	s.t.Helper()
	eventually(s.t, "the task is enqueued", func() bool {
		keys, err := s.Process.Redis.Keys(s.t.Context(), "asynq:{reports}:t:*").Result()
		return err == nil && len(keys) > 0
	})
}

// startWorker starts a worker within the service.
func (s *service) startWorker() {
	s.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	if err := s.StartWorker(ctx); err != nil {
		stop()
		s.t.Fatal(err)
	}
	s.t.Cleanup(stop)
}

func (s *service) awaitSnapshot(environment string) {
	s.t.Helper()
	eventually(s.t, "the snapshot appears", func() bool {
		return s.do(http.MethodGet, "/api/v2/snapshots/"+s.org+"/"+environment+"/1", adminKey, nil).status == http.StatusOK
	})
	latest := s.getSnapshot(environment, "-1")
	if latest.Index != 1 || len(latest.Artifacts) != 1 {
		s.t.Errorf("snapshot %d with %d artifacts", latest.Index, len(latest.Artifacts))
	}
}

// startRedis starts a Redis in memory for a test and returns its address.
func startRedis(t *testing.T) string {
	t.Helper()
	server := miniredis.RunT(t)
	server.ClockTTL(true)
	return "redis://" + server.Addr()
}

// runDyingWorker runs a worker process until it is killed before its n-th write to a collection. With Pebble, which
// only one process can open, the service is stopped meanwhile.
func (s *service) runDyingWorker(collection string, n int) {
	s.t.Helper()
	work := func() { s.workUntilKilled(collection, n) }
	if s.Process.Settings.Stores.Database.Engine == config.Pebble {
		s.restart(work)
	} else {
		work()
	}
}

func (s *service) workUntilKilled(collection string, n int) {
	s.t.Helper()
	command := exec.CommandContext(s.t.Context(), os.Args[0])
	command.Env = append(os.Environ(), dyingWorker+"="+strings.Join(s.Environment, "\n"),
		fatalWrite+"="+fmt.Sprintf(fatalWriteForm, collection, n))
	output, err := command.CombinedOutput()
	state, ok := command.ProcessState.Sys().(syscall.WaitStatus)
	if err == nil || !ok || state.Signal() != syscall.SIGKILL {
		s.t.Fatalf("the worker was not killed: %v\n%s", err, output)
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

// stopRedis stops the embedded Redis and removes its data.
func (s *service) stopRedis() {
	s.Redis.Close()
	s.Redis.FlushAll()
}
