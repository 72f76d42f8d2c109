package tasks_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"attestry/evidence/job"
	"attestry/tasks"
	"attestry/trace"
)

// spans is a fake tracer that collects the ended spans.
type spans struct{ ended []string }

func (s *spans) Start(ctx context.Context, kind trace.Kind, name string) (context.Context, trace.Span) {
	return ctx, &span{spans: s, name: fmt.Sprint(kind, " ", name)}
}

type span struct {
	trace.None
	spans *spans
	name  string
}

func (s *span) End(failed bool, _ ...slog.Attr) {
	s.spans.ended = append(s.spans.ended, fmt.Sprint(s.name, map[bool]string{true: " failed"}[failed]))
}

func TestEachRedisCommandHasASpan(t *testing.T) {
	server, client := startRedis(t)
	known := &spans{}
	trace.Use(known)
	defer trace.Use(nil)
	get := func() { client.Get(t.Context(), "missing") }
	pipeline := func() {
		_, _ = client.Pipelined(t.Context(), func(p redis.Pipeliner) error { p.Get(t.Context(), "missing"); return nil })
	}
	for _, c := range []struct {
		broken bool
		run    func()
		want   string
	}{{false, get, "2 redis get"}, {false, pipeline, "2 redis pipeline"}, {true, get, "2 redis get failed"}, {true, pipeline, "2 redis pipeline failed"}} {
		if c.broken {
			server.SetError("ERR broken")
		}
		known.ended = nil
		c.run() // spans of the commands that begin a connection are before
		if len(known.ended) == 0 || known.ended[len(known.ended)-1] != c.want {
			t.Errorf("the spans are %q, want %q", known.ended, c.want)
		}
	}
}

func TestWrongParametersOfTheAddressAreErrors(t *testing.T) {
	const want = "the address of Redis has a parameter that is unknown or wrong"
	for _, parameters := range []string{"pool_size=-1", "max_idle_conns=4294967296", "pool_size=many", "poolsize=1"} {
		address := "redis://:sesame@127.0.0.1:1/0?" + parameters
		if client, err := tasks.NewRedis(address, nil); client != nil || err == nil || err.Error() != want {
			t.Errorf("%s gives %v, %v", parameters, client, err)
		}
		if client, err := tasks.NewRedisWithin(address, time.Second, nil); client != nil || err == nil || err.Error() != want {
			t.Errorf("%s gives %v, %v", parameters, client, err)
		}
	}
}

func TestFailedTasksPauseAsTheirKindSays(t *testing.T) {
	for name, kind := range map[string]*job.Kind{job.Assemble.Name: &job.Assemble, job.Send.Name: &job.Send, "of another version": &job.Report} {
		for before := range 3 {
			pause := tasks.RetryDelay(before, nil, asynq.NewTask(name, nil))
			if least, most := kind.Pause(before+1, 0), kind.Pause(before+1, 1); pause < least || pause > most {
				t.Errorf("%s: pause %v after %d earlier failures, want %v to %v", name, pause, before, least, most)
			}
		}
	}
}

func TestTasksThatWaitForRedisAreBounded(t *testing.T) {
	_, client := startRedis(t)
	dispatcher := tasks.NewDispatcher(tasks.NewEnqueuer(client), slog.New(slog.DiscardHandler))
	limit := dispatcher.Limit()
	for i := range limit.Max + 1 {
		dispatcher.Dispatch(t.Context(), &job.Report, fmt.Sprint(i), 1)
		dispatcher.Dispatch(t.Context(), &job.Report, fmt.Sprint(i), 2) // shares the task
		if i == 1 && limit.Used() != 2 {
			t.Errorf("%d tasks wait, want 2", limit.Used())
		}
	}
	if limit.Used() != limit.Max || limit.Max != 100_000 {
		t.Errorf("%d tasks wait of at most %d", limit.Used(), limit.Max)
	}
}

func TestWaitersAreBounded(t *testing.T) {
	_, client := startRedis(t)
	waiters := tasks.NewWaiters(client, slog.New(slog.DiscardHandler))
	listen(t, waiters)
	limit := waiters.Limit()
	var leave []func()
	for i := range limit.Max + 1 {
		_, one, ok := waiters.Register("environment")
		if leave = append(leave, one); ok != (i < 5_000) || limit.Used() != min(i+1, 5_000) {
			t.Fatalf("waiter %d is registered: %v, %d wait", i+1, ok, limit.Used())
		}
	}
	for _, one := range leave {
		one()
	}
	if limit.Used() != 0 {
		t.Errorf("%d wait after all have left", limit.Used())
	}
}
