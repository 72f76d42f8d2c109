package reports_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"attestry/app"
	"attestry/evidence/evidencetest"
	"attestry/evidence/job"
	"attestry/evidence/snapshot"
	"attestry/tasks/reports"
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

// TestWorkerKilledAtAnyWriteLosesNothing kills a worker process with SIGKILL before and after each of its writes, and
// lets another worker continue.
func TestWorkerKilledAtAnyWriteLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	finished := false
	for write := 1; !finished; write++ {
		if write > 100 {
			t.Fatal("the worker never ends")
		}
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("write %d after %v", write, after), func(t *testing.T) {
				finished = !killedOnce(t, write, after)
			})
		}
	}
}

// rollout are operations after which three reports wait. They have a file that a flow reports late (f5), one that is
// rolled out (f1), and one that is rolled back to (f0).
var rollout = []operation{
	{Kind: "build", Flow: "build", Trail: "t1", Slot: "web", File: "f0", Commit: "c0", Repo: "r1"},
	{Kind: "build", Flow: "scan", Trail: "t2", Slot: "web", File: "f0", Commit: "c0", Repo: "r2"},
	{Kind: "build", Flow: "build", Trail: "t2", Slot: "web", File: "f1", Commit: "c1", Repo: "r1"},
	{Kind: "run", Images: []image{{"web", "f0", 1}, {"api", "f5", 1}}},
	{Kind: "drain"},
	{Kind: "build", Flow: "build", Trail: "t3", Slot: "api", File: "f5", Commit: "c2", Repo: "r1"},
	{Kind: "attest", Flow: "build", Trail: "t1", Attestation: "x"},
	{Kind: "run", Images: []image{{"web", "f1", 2}, {"api", "f5", 1}, {"other", "f6", 1}}},
	{Kind: "run", Images: []image{{"web", "f1", 2}, {"api", "f5", 1}, {"other", "f6", 1}}},
	{Kind: "run", Images: []image{{"web", "f0", 3}, {"api", "", 1}}},
}

// killedOnce kills a worker at a write, lets another one continue, and compares the result with the model. It reports
// whether the worker was killed: it ends normally if it makes fewer writes.
func killedOnce(t *testing.T, write int, after bool) bool {
	s := newModelScene(t, false, nil)
	s.apply(t, rollout...)
	// Only one process at a time can open a folder of Pebble.
	evidencetest.Must(t, s.docs.Close())
	killed := runWorker(t, s.folder, s.env, write, after)
	s.docs = openDocuments(t, s.folder)
	s.scene = s.another(t, nil)
	// The operation advances the clock, so that the lease of the killed worker has expired.
	s.apply(t, operation{Kind: "drain"})

	head := s.head(t)
	if head.Last != 3 || head.Processed != 4 {
		t.Fatalf("head is %+v", head)
	}
	for arrival, want := range map[int64]snapshot.Verdict{2: snapshot.Created, 3: snapshot.NoChange, 4: snapshot.Created} {
		if got := head.VerdictOf(arrival); got != want {
			t.Errorf("report %d: verdict %d, want %d", arrival, got, want)
		}
	}
	operations := append(slices.Clone(rollout), operation{Kind: "drain"})
	if difference := modelOf(operations, s.answered).compare(s.storedModel(t)); difference != "" {
		t.Error(difference)
	}
	assertEvents(t, s.scene, 9)
	assertSwept(t, s.scene)
	return killed
}

// assertSwept checks that no report is left after a sweep, and that the sweep enqueues nothing.
func assertSwept(t *testing.T, s *scene) {
	t.Helper()
	sweeper := reports.NewSweeper(s.store, noQueue{t}, s.clock.Now, quiet())
	s.clock.Advance(time.Minute)
	evidencetest.Must(t, sweeper.Sweep(t.Context()))
	left, _, err := s.store.Reports.AcceptedBefore(t.Context(), 1e12, "")
	if err != nil || len(left) > 0 {
		t.Errorf("%d reports are left, %v", len(left), err)
	}
}

// noQueue is a queue that fails the test if anything is enqueued.
type noQueue struct{ t *testing.T }

func (q noQueue) Enqueue(_ context.Context, ref job.Ref, _ int64) error {
	q.t.Errorf("report %s still waits", ref.Key)
	return nil
}

func (noQueue) Waiting(context.Context, string) (int, error) { return 0, nil }

// runWorker runs this binary as a worker and reports whether it was killed.
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
	k := &killing{write: int64(write), after: os.Getenv(killAfter) == "true"}
	docs := watch(openDocuments(t, os.Getenv(killFolder)), k.around)
	clock := newClock()
	clock.Set(time.Unix(int64(momentOf(len(rollout)-1))+1, 0))
	store := app.NewStore(docs, openObjects(t, os.Getenv(killFolder)), clock.Now, quiet())
	processor := reports.NewProcessor(store, silent{}, clock.Now, quiet(), func(string) {})
	if err := processor.Drain(context.Background(), os.Getenv(killEnv)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// process implements testing.TB outside a test.
type process struct{ testing.TB }

func (*process) Helper()                  {}
func (*process) Context() context.Context { return context.Background() }
func (*process) Cleanup(func())           {}
func (*process) Fatal(args ...any) {
	fmt.Println(args...)
	os.Exit(1)
}

// killing kills its process at a write, before or after it.
type killing struct {
	write int64
	after bool
	count atomic.Int64
}

func (k *killing) around(write bool, run func() error) error {
	mine := write && k.count.Add(1) == k.write
	if mine && !k.after {
		k.kill()
	}
	err := run()
	if mine {
		k.kill()
	}
	return err
}

func (k *killing) kill() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
