package server

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/hibiken/asynq"
	"github.com/prometheus/client_golang/prometheus"

	"attestry/config"
	"attestry/evidence/job"
	"attestry/process"
	"attestry/tasks"
)

// TestTasksThatThisProcessDoesAreCounted has one task under way and another that waits for it.
func TestTasksThatThisProcessDoesAreCounted(t *testing.T) {
	client, err := tasks.NewRedis("redis://" + miniredis.RunT(t).Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	p := &process.Process{
		Redis: client, Tasks: tasks.NewEnqueuer(client), Metrics: prometheus.NewRegistry(),
		Settings: config.Settings{Worker: config.Worker{Queues: map[string]int{job.QueueReports: 1}}},
	}
	if _, err := newMetrics(p); err != nil {
		t.Fatal(err)
	}
	began, end := make(chan struct{}, 2), make(chan struct{})
	stop := p.Tasks.WorkHere(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		began <- struct{}{}
		<-end
		return nil
	}), map[string]int{job.QueueReports: 1})
	defer stop(time.Minute)
	defer close(end)
	for arrival := range int64(2) {
		if err := p.Tasks.Enqueue(t.Context(), job.EnvironmentRef(&job.Report, "one", arrival), 0); err != nil {
			t.Fatal(err)
		}
	}
	<-began
	families, err := p.Metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "attestry_queue_tasks" {
				counts[metric.GetLabel()[1].GetValue()] = metric.GetGauge().GetValue()
			}
		}
	}
	if counts["active"] != 1 || counts["pending"] != 1 {
		t.Errorf("counted %v", counts)
	}
}
