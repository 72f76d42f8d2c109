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

// here does tasks in the process that enqueues them, so that they need not wait until a worker looks at
// Redis. Like Redis it may lose all of them.
type here struct {
	handler asynq.Handler
	// retry takes a task that has failed.
	retry func(*task, error)
	// ended is done when tasks under way are to end.
	ended context.Context
	// places has a channel for each queue, which holds an element for each task under way.
	places map[string]chan struct{}

	mu       sync.Mutex
	stopping bool
	// ids are those of the tasks that wait or are under way.
	ids     map[string]bool
	waiting map[string]int // by queue
	tasks   sync.WaitGroup
}

// WorkHere has tasks done by this process from now on: by the handler, and in each queue as many at once
// as concurrency says. Those that fail go to Redis, to be tried again. The returned function ends that: it
// waits for the tasks under way, which are told to end after the given time.
func (e *Enqueuer) WorkHere(handler asynq.Handler, concurrency map[string]int) (stop func(time.Duration)) {
	ended, end := context.WithCancel(context.Background())
	h := &here{handler: handler, retry: e.tryAgain, ended: ended, places: map[string]chan struct{}{}, ids: map[string]bool{}, waiting: map[string]int{}}
	for queue, n := range concurrency {
		h.places[queue] = make(chan struct{}, n)
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

// tryAgain lets asynq repeat a task. If Redis is away the sweep or a relay enqueues what it was to do.
func (e *Enqueuer) tryAgain(failed *task, err error) {
	if failed.Retries > 0 && !errors.Is(err, asynq.SkipRetry) {
		_ = e.queue(context.Background(), failed, asynq.ProcessIn(failed.Pause(1, rand.Float64())))
	}
}

// take has a task done, unless one of the same id waits or is under way. It is false if this process does
// not serve the queue or too many wait.
func (h *here) take(wanted *task) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	places, served := h.places[wanted.Queue]
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
		places <- struct{}{}
		defer func() { <-places }()
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

// do does a task whose turn it is. What still waited when the process was told to stop is left to the next start.
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

// Here returns how many tasks of a queue wait in this process and how many are under way. It is false
// if the process does no tasks of the queue itself.
func (e *Enqueuer) Here(queue string) (waiting, underWay int, ok bool) {
	h := e.here.Load()
	if h == nil || h.places[queue] == nil {
		return 0, 0, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waiting[queue], len(h.places[queue]), true
}

type taskKey struct{}

// CurrentID returns the id of the task that a handler does with a context.
func CurrentID(ctx context.Context) string {
	if current, ok := ctx.Value(taskKey{}).(*task); ok {
		return current.id
	}
	id, _ := asynq.GetTaskID(ctx)
	return id
}
