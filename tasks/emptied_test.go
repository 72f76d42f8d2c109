package tasks_test

import (
	"testing"

	"attestry/evidence/job"
	"attestry/tasks"
)

// TestTasksAreCountedAfterRedisWasEmptied enqueues with the same process before and after Redis is emptied: asynq adds
// the name of a queue to its set of queues only with the first task.
func TestTasksAreCountedAfterRedisWasEmptied(t *testing.T) {
	server, client := startRedis(t)
	api, worker := tasks.NewEnqueuer(client), tasks.NewEnqueuer(client)
	for step, c := range []struct {
		emptied           bool
		enqueued, waiting int
	}{{false, 0, 0}, {false, 2, 2}, {true, 0, 0}, {true, 3, 3}} {
		if c.emptied {
			server.FlushAll()
		}
		for attempt := range c.enqueued {
			if err := api.Enqueue(t.Context(), job.EnvironmentRef(&job.Report, "one", int64(step)), int64(attempt)); err != nil {
				t.Fatal(err)
			}
		}
		waiting, err := worker.Waiting(t.Context(), job.QueueReports)
		if err != nil || waiting != c.waiting {
			t.Errorf("step %d: %d wait, want %d, %v", step, waiting, c.waiting, err)
		}
	}
}

func TestCountingTasksFailsWhileRedisIsUnreachable(t *testing.T) {
	server, client := startRedis(t)
	enqueuer := tasks.NewEnqueuer(client)
	server.SetError("LOADING the dataset")
	if waiting, err := enqueuer.Waiting(t.Context(), job.QueueReports); err == nil {
		t.Errorf("%d tasks wait in an unreachable Redis", waiting)
	}
}
