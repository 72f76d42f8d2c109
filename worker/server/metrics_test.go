package server

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/hibiken/asynq"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"attestry/app"
	"attestry/config"
	"attestry/evidence/evidencetest"
	"attestry/evidence/job"
	"attestry/links"
	"attestry/process"
	"attestry/tasks"
	"attestry/tasks/relay"
)

// newCountedWorker makes a process with the metrics of its queues, and their Redis.
func newCountedWorker(t *testing.T) (*process.Process, *miniredis.Miniredis) {
	t.Helper()
	server := miniredis.RunT(t)
	client, err := tasks.NewRedis("redis://"+server.Addr(), nil)
	evidencetest.Must(t, err)
	t.Cleanup(func() { client.Close() })
	p := &process.Process{
		Redis: client, Tasks: tasks.NewEnqueuer(client), Metrics: prometheus.NewRegistry(),
		Settings: config.Settings{Worker: config.Worker{Queues: map[string]int{job.QueueReports: 1}, Concurrency: 7}},
	}
	newMetrics(p)
	return p, server
}

// queueStates reads the number of tasks in the queue by state, and the number of metrics of its latency.
func queueStates(t *testing.T, p *process.Process) (counts map[string]float64, latencies int) {
	t.Helper()
	families, err := p.Metrics.Gather()
	evidencetest.Must(t, err)
	counts = map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			switch family.GetName() {
			case "attestry_queue_tasks":
				counts[metric.GetLabel()[1].GetValue()] = metric.GetGauge().GetValue()
			case "attestry_queue_latency_seconds":
				latencies++
			}
		}
	}
	return counts, latencies
}

// unanswered is a hook of a Redis client that answers no command. It records for how long the commands may wait.
type unanswered struct{ waits []time.Duration }

func (*unanswered) DialHook(next redis.DialHook) redis.DialHook { return next }

func (u *unanswered) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, _ redis.Cmder) error {
		end, _ := ctx.Deadline()
		u.waits = append(u.waits, time.Until(end))
		return context.DeadlineExceeded
	}
}

func (*unanswered) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestScrapeWaitsForRedisNoLongerThanForTheDatabase(t *testing.T) {
	p, _ := newCountedWorker(t)
	hook := &unanswered{}
	p.Redis.AddHook(hook)
	queueStates(t, p)
	if len(hook.waits) != 1 || hook.waits[0] <= 0 || hook.waits[0] > jobsTimeout {
		t.Errorf("it may wait for %v", hook.waits)
	}
}

// mostTasks reads how many tasks the queue can have at most, by state.
func mostTasks(t *testing.T, p *process.Process) map[string]float64 {
	t.Helper()
	families, err := p.Metrics.Gather()
	evidencetest.Must(t, err)
	most := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "attestry_queue_tasks_max" {
				most[metric.GetLabel()[1].GetValue()] = metric.GetGauge().GetValue()
			}
		}
	}
	return most
}

// TestQueuesHaveMetricsAfterRedisWasEmptied starts with an empty Redis, and empties it again after a task.
func TestQueuesHaveMetricsAfterRedisWasEmptied(t *testing.T) {
	p, server := newCountedWorker(t)
	for arrival, want := range []float64{0, 1, 0, 1} {
		switch arrival {
		case 1, 3:
			evidencetest.Must(t, p.Tasks.Enqueue(t.Context(), job.EnvironmentRef(&job.Report, "one", int64(arrival)), 0))
		case 2:
			server.FlushAll()
		}
		if counts, latencies := queueStates(t, p); len(counts) != 5 || counts["pending"] != want || latencies != 1 {
			t.Errorf("step %d: counted %v, and %d latencies", arrival, counts, latencies)
		}
	}
	server.SetError("LOADING the dataset")
	if counts, latencies := queueStates(t, p); len(counts) != 0 || latencies != 0 {
		t.Errorf("while Redis is unavailable: counted %v, and %d latencies", counts, latencies)
	}
}

// TestTasksInThisProcessAreCounted has one task running and another waiting for it.
func TestTasksInThisProcessAreCounted(t *testing.T) {
	p, _ := newCountedWorker(t)
	began, end := make(chan struct{}, 2), make(chan struct{})
	stop := p.Tasks.RunLocally(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		began <- struct{}{}
		<-end
		return nil
	}), map[string]int{job.QueueReports: 1})
	defer stop(time.Minute)
	defer close(end)
	for arrival := range int64(2) {
		evidencetest.Must(t, p.Tasks.Enqueue(t.Context(), job.EnvironmentRef(&job.Report, "one", arrival), 0))
	}
	<-began
	counts, _ := queueStates(t, p)
	if most := mostTasks(t, p); most["active"] != 7 || most["pending"] != relay.MaxWaiting {
		t.Errorf("the queue can have %v tasks", most)
	}
	if counts["active"] != 1 || counts["pending"] != 1 {
		t.Errorf("counted %v", counts)
	}
}

// TestCountersOfAlertsExistFromTheStart tests that Prometheus sees their first increase.
func TestCountersOfAlertsExistFromTheStart(t *testing.T) {
	p := &process.Process{Metrics: prometheus.NewRegistry(), Store: &app.Store{}}
	newReconciler(p)
	newNotifier(p, links.Links{})
	families, err := p.Metrics.Gather()
	evidencetest.Must(t, err)
	series := map[string]int{}
	for _, family := range families {
		series[family.GetName()] = len(family.GetMetric())
	}
	if series["attestry_reconciled_total"] != 2 || series["attestry_delivery_attempts_total"] != 6 {
		t.Errorf("there are %v", series)
	}
}
