package tasks_test

import (
	"testing"

	"attestry/evidence/job"
	"attestry/tasks"
)

// TestTasksAreCountedAfterRedisWasEmptied has a process enqueue before and after that: asynq notes the name of a queue
// only the first time.
func TestTasksAreCountedAfterRedisWasEmptied(t *testing.T) {
	server, client := startRedis(t)
	api, worker := tasks.NewEnqueuer(client), tasks.NewEnqueuer(client)
	for step, one := range []struct {
		emptied           bool
		enqueued, waiting int
	}{{false, 0, 0}, {false, 2, 2}, {true, 0, 0}, {true, 3, 3}} {
		if one.emptied {
			server.FlushAll()
		}
		for attempt := range one.enqueued {
			if err := api.Enqueue(t.Context(), job.EnvironmentRef(&job.Report, "one", int64(step)), int64(attempt)); err != nil {
				t.Fatal(err)
			}
		}
		waiting, err := worker.Waiting(t.Context(), job.QueueReports)
		if err != nil || waiting != one.waiting {
			t.Errorf("step %d: %d wait, want %d, %v", step, waiting, one.waiting, err)
		}
	}
}

func TestQueuesCannotBeCountedWhileRedisIsAway(t *testing.T) {
	server, client := startRedis(t)
	enqueuer := tasks.NewEnqueuer(client)
	server.SetError("LOADING the dataset")
	if waiting, err := enqueuer.Waiting(t.Context(), job.QueueReports); err == nil {
		t.Errorf("%d tasks wait in a Redis that is away", waiting)
	}
}
