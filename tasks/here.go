package tasks

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hibiken/asynq"

	"attestry/goroutine"
)

// maxWaitingHere is how many tasks of a queue may wait in memory. Others go to Redis.
const maxWaitingHere = 10_000

// here runs tasks in the process that enqueues them, without the delay of polling Redis. Like Redis it may lose them.
type here struct {
	handler asynq.Handler
	// retry takes a task that has failed.
	retry func(*task, error)
	// ended is done when running tasks must end.
	ended context.Context
	// slots has a channel for each queue, which holds an element for each running task.
	slots map[string]chan struct{}

	mu       sync.Mutex
	stopping bool
	// ids are those of waiting and running tasks.
	ids     map[string]bool
	waiting map[string]int // by queue
	tasks   sync.WaitGroup
}

// RunLocally runs tasks in this process from now on, with the handler and the concurrency of each queue. Failed ones go
// to Redis, to be retried. stop ends the running here: it waits for tasks, and cancels them after the given time.
func (e *Enqueuer) RunLocally(handler asynq.Handler, concurrency map[string]int) (stop func(time.Duration)) {
	ended, end := context.WithCancel(context.Background())
	h := &here{handler: handler, retry: e.tryAgain, ended: ended, slots: map[string]chan struct{}{}, ids: map[string]bool{}, waiting: map[string]int{}}
	for queue, n := range concurrency {
		h.slots[queue] = make(chan struct{}, n)
	}
	e.here.Store(h)
	return func(within time.Duration) {
		e.here.Store(nil)
		h.mu.Lock()
		h.stopping = true
		h.mu.Unlock()
		timer := time.AfterFunc(within, end)
		h.tasks.Wait()
		timer.Stop()
		end()
	}
}

// tryAgain enqueues a failed task in Redis. If Redis is unreachable, the sweep or a relay enqueues its work.
func (e *Enqueuer) tryAgain(failed *task, err error) {
	if failed.Retries > 0 && !errors.Is(err, asynq.SkipRetry) {
		_ = e.queue(context.Background(), failed, asynq.ProcessIn(failed.Pause(1, rand.Float64())))
	}
}

// take runs a task, unless one of its id waits or runs. It is false if the queue is not served or too many tasks wait.
func (h *here) take(wanted *task) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	slots, served := h.slots[wanted.Queue]
	if h.ids[wanted.id] {
		return true
	}
	if !served || h.stopping || h.waiting[wanted.Queue] >= maxWaitingHere {
		return false
	}
	h.ids[wanted.id] = true
	h.waiting[wanted.Queue]++
	h.tasks.Add(1)
	goroutine.Start(func() error {
		slots <- struct{}{}
		defer func() { <-slots }()
		return h.do(wanted)
	}, func(err error) {
		h.mu.Lock()
		delete(h.ids, wanted.id)
		h.mu.Unlock()
		if err != nil {
			h.retry(wanted, err)
		}
		h.tasks.Done()
	})
	return true
}

// do runs a task. Tasks that still wait when the process stops are dropped: their work is enqueued again later.
func (h *here) do(wanted *task) error {
	h.mu.Lock()
	h.waiting[wanted.Queue]--
	stopping := h.stopping
	h.mu.Unlock()
	if stopping {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithValue(h.ended, taskKey{}, wanted), wanted.Timeout)
	defer cancel()
	return h.handler.ProcessTask(ctx, wanted.asynq())
}

// Here returns how many tasks of a queue wait and run in this process. ok is false if it does not serve the queue.
func (e *Enqueuer) Here(queue string) (waiting, running int, ok bool) {
	h := e.here.Load()
	if h == nil || h.slots[queue] == nil {
		return 0, 0, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waiting[queue], len(h.slots[queue]), true
}

type taskKey struct{}

// CurrentID returns the id of the task that runs with a context.
func CurrentID(ctx context.Context) string {
	if current, ok := ctx.Value(taskKey{}).(*task); ok {
		return current.id
	}
	id, _ := asynq.GetTaskID(ctx)
	return id
}
