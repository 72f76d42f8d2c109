package tasks_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/job"
	"attestry/tasks"
	"attestry/trace"
)

func startRedis(t *testing.T) (*miniredis.Miniredis, *redis.Client) {
	t.Helper()
	server := miniredis.RunT(t)
	client, err := tasks.NewRedis("redis://"+server.Addr(), nil)
	evidencetest.Must(t, err)
	t.Cleanup(func() { client.Close() })
	return server, client
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func runDispatcher(t *testing.T, client *redis.Client) *tasks.Dispatcher {
	t.Helper()
	dispatcher := tasks.NewDispatcher(tasks.NewEnqueuer(client), slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		dispatcher.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return dispatcher
}

func pending(t *testing.T, client *redis.Client) int {
	t.Helper()
	return pendingIn(t, client, job.QueueReports)
}

func pendingIn(t *testing.T, client *redis.Client, queue string) int {
	t.Helper()
	info, err := asynq.NewInspectorFromRedisClient(client).GetQueueInfo(queue)
	if err != nil {
		return 0
	}
	return info.Pending
}

func TestDispatcherEnqueuesOneTaskPerEnvironment(t *testing.T) {
	_, client := startRedis(t)
	dispatcher := tasks.NewDispatcher(tasks.NewEnqueuer(client), slog.New(slog.DiscardHandler))
	for arrival := range int64(50) {
		dispatcher.Dispatch(t.Context(), &job.Report, "one", arrival+1)
		dispatcher.Dispatch(t.Context(), &job.Report, "two", arrival+1)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	// Run enqueues all pending tasks although its context has ended.
	dispatcher.Run(ctx)
	if got := pending(t, client); got != 2 {
		t.Errorf("%d tasks", got)
	}
}

func TestTaskHasTheTraceOfTheLastRecord(t *testing.T) {
	_, client := startRedis(t)
	dispatcher := tasks.NewDispatcher(tasks.NewEnqueuer(client), slog.New(slog.DiscardHandler))
	for arrival, id := range []string{"first", "last"} {
		dispatcher.Dispatch(trace.With(t.Context(), id), &job.Report, "one", int64(arrival))
	}
	dispatcher.Dispatch(t.Context(), &job.Report, "two", 1)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	dispatcher.Run(ctx)
	waiting, err := asynq.NewInspectorFromRedisClient(client).ListPendingTasks(job.QueueReports)
	evidencetest.Must(t, err)
	payloads := evidence.Map(waiting, func(task *asynq.TaskInfo) string { return string(task.Payload) })
	slices.Sort(payloads)
	if want := []string{`{"environment":"one","trace":"last"}`, `{"environment":"two"}`}; !slices.Equal(payloads, want) {
		t.Errorf("the tasks have %q, want %q", payloads, want)
	}
}

func TestEvaluationsHaveAQueueOfTheirOwn(t *testing.T) {
	_, client := startRedis(t)
	dispatcher := runDispatcher(t, client)
	for arrival := range int64(3) {
		dispatcher.Dispatch(t.Context(), &job.Report, "one", 2*arrival+1)
		dispatcher.Dispatch(t.Context(), &job.Evaluate, "one", 2*arrival+2)
	}
	eventually(t, "both are enqueued", func() bool {
		return pendingIn(t, client, job.QueueReports) > 0 && pendingIn(t, client, job.QueueCompliance) > 0
	})
	waiting, err := asynq.NewInspectorFromRedisClient(client).ListPendingTasks(job.QueueCompliance)
	evidencetest.Must(t, err)
	for _, task := range waiting {
		if task.Type != job.Evaluate.Name {
			t.Errorf("the queue has a task %s", task.Type)
		}
	}
}

func TestDispatcherRetriesAfterAnOutageOfRedis(t *testing.T) {
	server, client := startRedis(t)
	dispatcher := runDispatcher(t, client)
	server.SetError("LOADING the dataset")
	dispatcher.Dispatch(t.Context(), &job.Report, "one", 1)
	eventually(t, "Redis is reported as unreachable", dispatcher.Unreachable)
	server.SetError("")
	eventually(t, "the task is enqueued", func() bool { return pending(t, client) == 1 })
	eventually(t, "Redis is reported as reachable", func() bool { return !dispatcher.Unreachable() })
}

func TestEnqueueingAnAttemptTwiceMakesOneTask(t *testing.T) {
	_, client := startRedis(t)
	enqueuer := tasks.NewEnqueuer(client)
	for _, attempt := range []int64{0, 0, 1} {
		evidencetest.Must(t, enqueuer.Enqueue(t.Context(), job.EnvironmentRef(&job.Report, "one", 7), attempt))
	}
	if got := pending(t, client); got != 2 {
		t.Errorf("%d tasks for two attempts", got)
	}
}

func TestErrorsDoNotContainTheRedisPassword(t *testing.T) {
	const url = "redis://user:s3cr3t@host:port:port/x"
	_, err := tasks.NewRedis(url, nil)
	_, errWithin := tasks.NewRedisWithin(url, time.Second, nil)
	for _, err := range []error{err, errWithin} {
		if err == nil {
			t.Fatal("a malformed URL was accepted")
		}
		if got := err.Error(); len(got) == 0 || strings.Contains(got, "s3cr3t") {
			t.Errorf("the error is %q", got)
		}
	}
}

// panicOnce is a hook of a Redis client that panics at the first command.
type panicOnce struct{ once sync.Once }

func (p *panicOnce) DialHook(next redis.DialHook) redis.DialHook { return next }

func (p *panicOnce) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		p.once.Do(func() { panic("poison") })
		return next(ctx, command)
	}
}

func (p *panicOnce) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestDispatcherRetriesAfterAPanic(t *testing.T) {
	server, client := startRedis(t)
	poisoned := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { poisoned.Close() })
	poisoned.AddHook(&panicOnce{})
	dispatcher := runDispatcher(t, poisoned)
	dispatcher.Dispatch(t.Context(), &job.Report, "one", 1)
	eventually(t, "the task is enqueued", func() bool { return pending(t, client) == 1 })
}
