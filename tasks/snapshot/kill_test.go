package snapshot_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"attestry/evidence"
	rules "attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/tasks/snapshot"
)

// The environment variables that turn this test binary into a worker.
const (
	killFolder = "ATTESTRY_TEST_KILL_FOLDER"
	killEnv    = "ATTESTRY_TEST_KILL_ENVIRONMENT"
	killWrite  = "ATTESTRY_TEST_KILL_WRITE"
	killAfter  = "ATTESTRY_TEST_KILL_AFTER"
)

func TestMain(m *testing.M) {
	if os.Getenv(killFolder) != "" {
		workUntilKilled()
		return
	}
	os.Exit(m.Run())
}

// TestWorkerKilledAtAnyWriteLosesNothing kills a worker process with SIGKILL
// before and after each of its writes, and lets another one go on.
func TestWorkerKilledAtAnyWriteLosesNothing(t *testing.T) {
	finished := false
	for write := 1; !finished; write++ {
		if write > 40 {
			t.Fatal("the worker never ends")
		}
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("write %d after %v", write, after), func(t *testing.T) {
				finished = !killedOnce(t, write, after)
			})
		}
	}
}

// killedOnce plays one killing and tells whether there was one: the worker ends by
// itself when it has fewer writes.
func killedOnce(t *testing.T, write int, after bool) bool {
	folder := t.TempDir()
	clock := newHands()
	docs := openDocuments(t, folder)
	store := storage.NewStore(docs, openObjects(t, folder), clock.read, quiet())
	t.Cleanup(store.Tenancy.Close)
	s := &scene{
		store:     store,
		clock:     clock,
		env:       evidence.NewID(),
		intake:    snapshot.NewIntake(store, silent{}, silent{}, clock.read, 0),
		processor: snapshot.NewProcessor(store, silent{}, clock.read, quiet()),
	}
	s.create(t, s.env)
	s.accept(t, running("a", "b"))
	s.drain(t)
	s.accept(t, running("b", "c"))
	s.accept(t, running("b", "c"))
	s.accept(t, running("c", "d"))

	killed := runWorker(t, folder, s.env, write, after)
	// The lease of the killed worker runs out.
	s.clock.turn(time.Minute)
	s.drain(t)

	head := s.head(t)
	if head.Last != 3 || head.Processed != 4 {
		t.Fatalf("head is %+v", head)
	}
	for arrival, want := range map[int64]rules.Verdict{2: rules.Created, 3: rules.NoChange, 4: rules.Created} {
		if got := head.VerdictOf(arrival); got != want {
			t.Errorf("report %d: verdict %d, want %d", arrival, got, want)
		}
	}
	for number, want := range map[int64]string{1: "ab", 2: "bc", 3: "cd"} {
		if _, artifacts, _ := s.artifacts(t, number); len(artifacts) != 2 {
			t.Errorf("snapshot %d has %d artifacts, want %s", number, len(artifacts), want)
		}
	}
	assertRunning(t, s, map[string]bool{"a": false, "b": false, "c": true, "d": true})
	assertEvents(t, s, 6)
	assertSwept(t, s)
	return killed
}

// assertSwept checks that no report is left once the sweep has looked.
func assertSwept(t *testing.T, s *scene) {
	t.Helper()
	sweeper := snapshot.NewSweeper(s.store, noQueue{t}, s.clock.read, quiet())
	s.clock.turn(time.Minute)
	if err := sweeper.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	left, _, err := s.store.Reports.AcceptedBefore(t.Context(), 1e12, "")
	if err != nil || len(left) > 0 {
		t.Errorf("%d reports are left, %v", len(left), err)
	}
}

// noQueue fails the test when anything is enqueued.
type noQueue struct{ t *testing.T }

func (q noQueue) Report(_ context.Context, environment string, arrival int64, _ int) error {
	q.t.Errorf("report %s/%d still waits", environment, arrival)
	return nil
}

// runWorker runs this binary as a worker and tells whether it was killed.
func runWorker(t *testing.T, folder, env string, write int, after bool) bool {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(),
		killFolder+"="+folder, killEnv+"="+env,
		killWrite+"="+strconv.Itoa(write), killAfter+"="+strconv.FormatBool(after))
	output, err := command.CombinedOutput()
	if err == nil {
		return false
	}
	state, ok := command.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || state.Signal() != syscall.SIGKILL {
		t.Fatalf("the worker failed: %v\n%s", err, output)
	}
	return true
}

// workUntilKilled is the worker process of the test.
func workUntilKilled() {
	t := &process{}
	write, _ := strconv.Atoi(os.Getenv(killWrite))
	docs := &killing{
		Documents: openDocuments(t, os.Getenv(killFolder)),
		write:     int64(write),
		after:     os.Getenv(killAfter) == "true",
	}
	clock := newHands()
	clock.turn(time.Second)
	store := storage.NewStore(docs, openObjects(t, os.Getenv(killFolder)), clock.read, quiet())
	processor := snapshot.NewProcessor(store, silent{}, clock.read, quiet())
	if err := processor.Drain(context.Background(), os.Getenv(killEnv)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// process stands in for testing.TB outside a test.
type process struct{ testing.TB }

func (*process) Helper()                  {}
func (*process) Context() context.Context { return context.Background() }
func (*process) Cleanup(func())           {}
func (*process) Fatal(args ...any) {
	fmt.Println(args...)
	os.Exit(1)
}

// killing ends its process at the n-th write, before or after it.
type killing struct {
	storage.Documents
	write int64
	after bool
	count atomic.Int64
}

func (k *killing) around(write func() error) error {
	mine := k.count.Add(1) == k.write
	if mine && !k.after {
		k.kill()
	}
	err := write()
	if mine {
		k.kill()
	}
	return err
}

func (k *killing) kill() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func (k *killing) Insert(ctx context.Context, s *storage.Schema, r storage.Record) error {
	return k.around(func() error { return k.Documents.Insert(ctx, s, r) })
}

func (k *killing) InsertMany(ctx context.Context, s *storage.Schema, rs []storage.Record) (stored int, err error) {
	err = k.around(func() error {
		stored, err = k.Documents.InsertMany(ctx, s, rs)
		return err
	})
	return stored, err
}

func (k *killing) Replace(ctx context.Context, s *storage.Schema, r storage.Record, revision int64) error {
	return k.around(func() error { return k.Documents.Replace(ctx, s, r, revision) })
}

func (k *killing) Delete(ctx context.Context, s *storage.Schema, ids ...string) error {
	return k.around(func() error { return k.Documents.Delete(ctx, s, ids...) })
}
