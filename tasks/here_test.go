package tasks_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"attestry/evidence/evidencetest"
	"attestry/evidence/job"
	"attestry/tasks"
)

var concurrency = map[string]int{job.QueueReports: 1, job.QueueNotifications: 2}

// receive fails the test if the channel gets no value within 20 seconds.
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

func TestTaskRunsInTheProcessThatEnqueuesIt(t *testing.T) {
	server, client := startRedis(t)
	server.SetError("LOADING the dataset") // Redis is not needed
	enqueuer := tasks.NewEnqueuer(client)
	ids := make(chan string, 1)
	stop := enqueuer.RunLocally(asynq.HandlerFunc(func(ctx context.Context, _ *asynq.Task) error {
		ids <- tasks.CurrentID(ctx)
		return nil
	}), concurrency)
	defer stop(time.Minute)
	evidencetest.Must(t, enqueuer.Enqueue(t.Context(), job.EnvironmentRef(&job.Report, "one", 7), 0))
	if id := receive(t, ids); id != "environment:report/one/7:0" {
		t.Errorf("the task is %s", id)
	}
}

func TestProcessLimitsTheTasksThatRunAtOnce(t *testing.T) {
	_, client := startRedis(t)
	enqueuer := tasks.NewEnqueuer(client)
	began, end := make(chan string, 10), make(chan struct{})
	stop := enqueuer.RunLocally(asynq.HandlerFunc(func(ctx context.Context, _ *asynq.Task) error {
		began <- tasks.CurrentID(ctx)
		<-end
		return nil
	}), concurrency)
	defer stop(time.Minute)
	for range 2 { // the second pass enqueues the same tasks again
		for arrival := range int64(3) {
			evidencetest.Must(t, enqueuer.Enqueue(t.Context(), job.Ref{Kind: &job.Send, Key: "org/delivery"}, arrival))
		}
	}
	known := map[string]bool{receive(t, began): true, receive(t, began): true}
	if waiting, err := enqueuer.Waiting(t.Context(), job.QueueNotifications); err != nil || waiting != 1 || len(began) != 0 {
		t.Errorf("%d wait and %d run beyond two, %v", waiting, len(began), err)
	}
	if waiting, running, ok := enqueuer.Here(job.QueueNotifications); waiting != 1 || running != 2 || !ok {
		t.Errorf("%d wait and %d run, %v", waiting, running, ok)
	}
	close(end)
	if known[receive(t, began)] = true; len(known) != 3 {
		t.Errorf("the tasks that ran are %v", known)
	}
}

func TestFailedTaskIsRetriedThroughRedis(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("broken") },
		"panic": func() error { panic("poison") },
	} {
		t.Run(name, func(t *testing.T) {
			_, client := startRedis(t)
			enqueuer := tasks.NewEnqueuer(client)
			began := make(chan struct{}, 1)
			stop := enqueuer.RunLocally(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
				began <- struct{}{}
				return fail()
			}), concurrency)
			evidencetest.Must(t, enqueuer.Enqueue(t.Context(), job.EnvironmentRef(&job.Report, "one", 7), 0))
			receive(t, began)
			stop(time.Minute)
			scheduled, err := asynq.NewInspectorFromRedisClient(client).ListScheduledTasks(job.QueueReports)
			if err != nil || len(scheduled) != 1 || scheduled[0].ID != "environment:report/one/7:0" {
				t.Errorf("scheduled for a retry: %v, %v", scheduled, err)
			}
		})
	}
}

// TestTasksThatTheProcessDoesNotServeGoToRedis covers a queue without a handler and a process that has stopped.
func TestTasksThatTheProcessDoesNotServeGoToRedis(t *testing.T) {
	_, client := startRedis(t)
	enqueuer := tasks.NewEnqueuer(client)
	stop := enqueuer.RunLocally(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { return nil }), concurrency)
	if err := enqueuer.Enqueue(t.Context(), job.EnvironmentRef(&job.Evaluate, "one", 7), 0); err != nil || pendingIn(t, client, job.QueueCompliance) != 1 {
		t.Errorf("an evaluation is not in Redis, %v", err)
	}
	stop(time.Minute)
	if err := enqueuer.Enqueue(t.Context(), job.EnvironmentRef(&job.Report, "one", 7), 0); err != nil || pending(t, client) != 1 {
		t.Errorf("a report is not in Redis, %v", err)
	}
}

func TestTasksUnderWayAreCanceledAfterTheGracePeriod(t *testing.T) {
	_, client := startRedis(t)
	enqueuer := tasks.NewEnqueuer(client)
	began := make(chan struct{}, 1)
	stop := enqueuer.RunLocally(asynq.HandlerFunc(func(ctx context.Context, _ *asynq.Task) error {
		began <- struct{}{}
		<-ctx.Done()
		return nil
	}), concurrency)
	evidencetest.Must(t, enqueuer.Enqueue(t.Context(), job.EnvironmentRef(&job.Report, "one", 7), 0))
	receive(t, began)
	stop(time.Millisecond)
}
