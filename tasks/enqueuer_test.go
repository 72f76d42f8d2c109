package tasks_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"attestry/evidence/job"
	"attestry/tasks"
)

// serve runs the tasks of packages, four at once, until the test ends.
func serve(t *testing.T, client *redis.Client, handler asynq.HandlerFunc) {
	t.Helper()
	server := asynq.NewServerFromRedisClient(client, asynq.Config{
		Concurrency: 4, Queues: map[string]int{job.QueuePackages: 1}, LogLevel: asynq.FatalLevel,
	})
	if err := server.Start(handler); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
}

// The package that the tests enqueue.
const (
	assemblyID  = "org/trail/x"
	assemblyDue = 1_790_000_000.5
)

func assemble(t *testing.T, enqueuer *tasks.Enqueuer) {
	t.Helper()
	if err := enqueuer.Assemble(t.Context(), assemblyID, assemblyDue, 0); err != nil {
		t.Fatal(err)
	}
}

// receive fails the test if nothing comes.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	select {
	case value := <-from:
		return value
	case <-ctx.Done():
	}
	t.Fatal("nothing was received in time")
	return *new(T)
}

// sizeOfQueue is how many tasks of packages there are, those of workers included.
func sizeOfQueue(t *testing.T, client *redis.Client) int {
	t.Helper()
	info, err := asynq.NewInspectorFromRedisClient(client).GetQueueInfo(job.QueuePackages)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size
}

func TestAssemblyThatWaitsIsEnqueuedOnce(t *testing.T) {
	_, client := startRedis(t)
	enqueuer := tasks.NewEnqueuer(client)
	for range 3 {
		assemble(t, enqueuer)
	}
	if size := sizeOfQueue(t, client); size != 1 {
		t.Errorf("%d tasks wait", size)
	}
}

// TestAssemblyHasThreeTasksAtMost has workers that took tasks and are not heard of.
func TestAssemblyHasThreeTasksAtMost(t *testing.T) {
	_, client := startRedis(t)
	enqueuer := tasks.NewEnqueuer(client)
	taken, end := make(chan string, 10), make(chan struct{})
	serve(t, client, func(_ context.Context, task *asynq.Task) error {
		taken <- task.ResultWriter().TaskID()
		<-end
		return nil
	})
	defer close(end)
	known := map[string]bool{}
	for range 3 {
		assemble(t, enqueuer)
		id := receive(t, taken)
		if known[id] {
			t.Errorf("task %s was taken twice", id)
		}
		known[id] = true
	}
	assemble(t, enqueuer)
	if size := sizeOfQueue(t, client); size != 3 {
		t.Errorf("there are %d tasks", size)
	}
}

func TestArchivedAssemblyIsEnqueuedAgain(t *testing.T) {
	_, client := startRedis(t)
	enqueuer := tasks.NewEnqueuer(client)
	runs := make(chan struct{}, 10)
	serve(t, client, func(context.Context, *asynq.Task) error {
		runs <- struct{}{}
		return errors.New("as if its worker had been killed")
	})
	assemble(t, enqueuer)
	receive(t, runs)
	inspector := asynq.NewInspectorFromRedisClient(client)
	eventually(t, "the task is archived", func() bool {
		archived, err := inspector.ListArchivedTasks(job.QueuePackages)
		return err == nil && len(archived) == 1
	})
	assemble(t, enqueuer)
	receive(t, runs)
}

// beforeRunTask calls a function once, before asynq enqueues an archived task again. Its error is that of
// the command.
type beforeRunTask struct {
	call   func() error
	called bool
}

func (b *beforeRunTask) DialHook(next redis.DialHook) redis.DialHook { return next }

func (b *beforeRunTask) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (b *beforeRunTask) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		// Only the script of RunTask has the groups among its keys.
		if !b.called && slices.Contains(command.Args(), any("asynq:{"+job.QueuePackages+"}:groups")) {
			b.called = true
			if err := b.call(); err != nil {
				return err
			}
		}
		return next(ctx, command)
	}
}

// TestArchivedAssemblyIsEnqueuedAgainByOneWorkerOfSeveral has another worker see the same archived task, and
// be first.
func TestArchivedAssemblyIsEnqueuedAgainByOneWorkerOfSeveral(t *testing.T) {
	for name, c := range map[string]struct {
		first func(t *testing.T, client *redis.Client, inspector *asynq.Inspector, id string) error
		fails bool
	}{
		"and it waits": {first: func(_ *testing.T, _ *redis.Client, inspector *asynq.Inspector, id string) error {
			return inspector.RunTask(job.QueuePackages, id)
		}},
		"and is taken": {first: func(t *testing.T, client *redis.Client, inspector *asynq.Inspector, id string) error {
			taken, end := make(chan struct{}, 1), make(chan struct{})
			serve(t, client, func(context.Context, *asynq.Task) error {
				taken <- struct{}{}
				<-end
				return nil
			})
			t.Cleanup(func() { close(end) })
			err := inspector.RunTask(job.QueuePackages, id)
			receive(t, taken)
			return err
		}},
		"and it has ended": {first: func(_ *testing.T, _ *redis.Client, inspector *asynq.Inspector, id string) error {
			return inspector.DeleteTask(job.QueuePackages, id)
		}},
		"but Redis fails": {fails: true, first: func(*testing.T, *redis.Client, *asynq.Inspector, string) error {
			return errors.New("as if Redis had failed")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			server, client := startRedis(t)
			other, err := tasks.NewRedis("redis://" + server.Addr())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { other.Close() })
			enqueuer, inspector := tasks.NewEnqueuer(client), asynq.NewInspectorFromRedisClient(other)
			assemble(t, enqueuer)
			waiting, err := inspector.ListPendingTasks(job.QueuePackages)
			if err != nil || len(waiting) != 1 {
				t.Fatalf("%d tasks wait, %v", len(waiting), err)
			}
			id := waiting[0].ID
			if err := inspector.ArchiveTask(job.QueuePackages, id); err != nil {
				t.Fatal(err)
			}
			hook := &beforeRunTask{call: func() error { return c.first(t, other, inspector, id) }}
			client.AddHook(hook)
			err = enqueuer.Assemble(t.Context(), assemblyID, assemblyDue, 0)
			if (err != nil) != c.fails || !hook.called {
				t.Errorf("got %v, asynq was asked: %t", err, hook.called)
			}
		})
	}
}
