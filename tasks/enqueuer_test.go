package tasks_test

import (
	"context"
	"errors"
	"testing"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"attestry/tasks"
)

// serve runs the tasks of packages until the test ends.
func serve(t *testing.T, client *redis.Client, handler asynq.HandlerFunc) {
	t.Helper()
	server := asynq.NewServerFromRedisClient(client, asynq.Config{
		Concurrency: 2, Queues: map[string]int{tasks.QueuePackages: 1}, LogLevel: asynq.FatalLevel,
	})
	if err := server.Start(handler); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
}

func assemble(t *testing.T, enqueuer *tasks.Enqueuer) {
	t.Helper()
	if err := enqueuer.Assemble(t.Context(), "org/trail/x", 1_790_000_000.5, 0); err != nil {
		t.Fatal(err)
	}
}

func TestAssemblyThatWaitsIsEnqueuedOnce(t *testing.T) {
	_, client := startRedis(t)
	enqueuer := tasks.NewEnqueuer(client)
	for range 3 {
		assemble(t, enqueuer)
	}
	info, err := asynq.NewInspectorFromRedisClient(client).GetQueueInfo(tasks.QueuePackages)
	if err != nil || info.Size != 1 {
		t.Errorf("%d tasks wait, %v", info.Size, err)
	}
}

// TestAssemblyIsEnqueuedAgainWhileAWorkerHasItsTask has a worker that took a task and is not heard of.
func TestAssemblyIsEnqueuedAgainWhileAWorkerHasItsTask(t *testing.T) {
	_, client := startRedis(t)
	enqueuer := tasks.NewEnqueuer(client)
	taken, end := make(chan string, 10), make(chan struct{})
	serve(t, client, func(_ context.Context, task *asynq.Task) error {
		taken <- task.ResultWriter().TaskID()
		<-end
		return nil
	})
	defer close(end)
	assemble(t, enqueuer)
	first := <-taken
	assemble(t, enqueuer)
	if second := <-taken; second == first {
		t.Errorf("task %s was taken twice", first)
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
	<-runs
	inspector := asynq.NewInspectorFromRedisClient(client)
	eventually(t, "the task is archived", func() bool {
		archived, err := inspector.ListArchivedTasks(tasks.QueuePackages)
		return err == nil && len(archived) == 1
	})
	assemble(t, enqueuer)
	<-runs
}
