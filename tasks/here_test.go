package tasks_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"attestry/evidence/job"
	"attestry/tasks"
)

var atOnce = map[string]int{job.QueueReports: 1, job.QueueNotifications: 2}

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

func TestTaskIsDoneByTheProcessThatEnqueuesIt(t *testing.T) {
	server, client := startRedis(t)
	server.SetError("LOADING the dataset") // Redis is not needed
	enqueuer := tasks.NewEnqueuer(client)
	ids := make(chan string, 1)
	stop := enqueuer.WorkHere(asynq.HandlerFunc(func(ctx context.Context, _ *asynq.Task) error {
		ids <- tasks.CurrentID(ctx)
		return nil
	}), atOnce)
	defer stop(time.Minute)
	if err := enqueuer.Enqueue(t.Context(), job.EnvironmentRef(&job.Report, "one", 7), 0); err != nil {
		t.Fatal(err)
	}
	if id := receive(t, ids); id != "environment:report/one/7:0" {
		t.Errorf("the task is %s", id)
	}
}

func TestProcessDoesAsManyTasksAtOnceAsItMay(t *testing.T) {
	_, client := startRedis(t)
	enqueuer := tasks.NewEnqueuer(client)
	began, end := make(chan string, 10), make(chan struct{})
	stop := enqueuer.WorkHere(asynq.HandlerFunc(func(ctx context.Context, _ *asynq.Task) error {
		began <- tasks.CurrentID(ctx)
		<-end
		return nil
	}), atOnce)
	defer stop(time.Minute)
	for range 2 { // the second of each is the same task
		for arrival := range int64(3) {
			if err := enqueuer.Enqueue(t.Context(), job.Ref{Kind: &job.Send, Key: "org/delivery"}, arrival); err != nil {
				t.Fatal(err)
			}
		}
	}
	known := map[string]bool{receive(t, began): true, receive(t, began): true}
	if waiting, err := enqueuer.Waiting(t.Context(), job.QueueNotifications); err != nil || waiting != 1 || len(began) != 0 {
		t.Errorf("%d wait and %d run beyond two, %v", waiting, len(began), err)
	}
	if waiting, underWay, ok := enqueuer.Here(job.QueueNotifications); waiting != 1 || underWay != 2 || !ok {
		t.Errorf("%d wait and %d are under way, %v", waiting, underWay, ok)
	}
	close(end)
	if known[receive(t, began)] = true; len(known) != 3 {
		t.Errorf("done were %v", known)
	}
}

func TestTaskThatFailsIsTriedAgainByWayOfRedis(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("broken") },
		"panic": func() error { panic("poison") },
	} {
		t.Run(name, func(t *testing.T) {
			_, client := startRedis(t)
			enqueuer := tasks.NewEnqueuer(client)
			began := make(chan struct{}, 1)
			stop := enqueuer.WorkHere(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
				began <- struct{}{}
				return fail()
			}), atOnce)
			if err := enqueuer.Enqueue(t.Context(), job.EnvironmentRef(&job.Report, "one", 7), 0); err != nil {
				t.Fatal(err)
			}
			receive(t, began)
			stop(time.Minute)
			later, err := asynq.NewInspectorFromRedisClient(client).ListScheduledTasks(job.QueueReports)
			if err != nil || len(later) != 1 || later[0].ID != "environment:report/one/7:0" {
				t.Errorf("to be tried again: %v, %v", later, err)
			}
		})
	}
}

// TestQueueThatIsNotServedHereGoesToRedis covers a process that has stopped as well.
func TestQueueThatIsNotServedHereGoesToRedis(t *testing.T) {
	_, client := startRedis(t)
	enqueuer := tasks.NewEnqueuer(client)
	stop := enqueuer.WorkHere(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { return nil }), atOnce)
	if err := enqueuer.Enqueue(t.Context(), job.EnvironmentRef(&job.Evaluate, "one", 7), 0); err != nil || pendingIn(t, client, job.QueueCompliance) != 1 {
		t.Errorf("an evaluation is not in Redis, %v", err)
	}
	stop(time.Minute)
	if err := enqueuer.Enqueue(t.Context(), job.EnvironmentRef(&job.Report, "one", 7), 0); err != nil || pending(t, client) != 1 {
		t.Errorf("a report is not in Redis, %v", err)
	}
}

func TestTasksUnderWayAreToldToEndWhenTheirTimeIsOver(t *testing.T) {
	_, client := startRedis(t)
	enqueuer := tasks.NewEnqueuer(client)
	began := make(chan struct{}, 1)
	stop := enqueuer.WorkHere(asynq.HandlerFunc(func(ctx context.Context, _ *asynq.Task) error {
		began <- struct{}{}
		<-ctx.Done()
		return nil
	}), atOnce)
	if err := enqueuer.Enqueue(t.Context(), job.EnvironmentRef(&job.Report, "one", 7), 0); err != nil {
		t.Fatal(err)
	}
	receive(t, began)
	stop(time.Millisecond)
}
