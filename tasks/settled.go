package tasks

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"attestry/goroutine"
	"attestry/monitor"
)

const (
	// settledChannel carries the ids of environments whose head has changed and of audit packages whose assembly has.
	settledChannel = "attestry:settled"
	// maxWaiters bounds how many requests wait at the same time.
	maxWaiters = 5_000
	// resubscribePause is how long a broken subscription rests before the next attempt.
	resubscribePause = 200 * time.Millisecond
	// pingInterval is the silence after which Redis is pinged, and the time within which it must answer.
	pingInterval = 5 * time.Second
)

// PublishChange notifies the api processes that the head of an environment or the assembly of a package has changed, by
// its id. A lost message does no harm: waiters also poll.
func (e *Enqueuer) PublishChange(ctx context.Context, id string) {
	e.redis.Publish(ctx, settledChannel, id)
}

// Waiters are the requests of this process that wait for an environment or a package, with one subscription.
type Waiters struct {
	client redis.UniversalClient
	log    *slog.Logger
	ping   time.Duration // pingInterval

	// tried is closed once the first attempt to listen has succeeded or failed.
	tried chan struct{}
	once  sync.Once

	mu        sync.Mutex
	listening bool
	ended     bool
	waiting   map[string]map[chan struct{}]struct{}
	count     int
}

// NewWaiters makes a registry that wakes requests while Run runs.
func NewWaiters(client redis.UniversalClient, log *slog.Logger) *Waiters {
	return &Waiters{
		client: client, log: log, ping: pingInterval,
		tried:   make(chan struct{}),
		waiting: map[string]map[chan struct{}]struct{}{},
	}
}

// Limit is the number of waiting requests.
func (w *Waiters) Limit() monitor.Limit {
	return monitor.Limit{Name: "waiting_requests", Max: maxWaiters, Used: func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.count
	}}
}

// Tried is closed once it is known whether waiters can be woken. Before that they are refused.
func (w *Waiters) Tried() <-chan struct{} { return w.tried }

// Register begins to wait for an environment or a package, by its id. The channel gets a value when its result may have
// changed, and is closed by End; leave ends the waiting. ok is false after End, at maxWaiters, or without subscription.
func (w *Waiters) Register(id string) (wake <-chan struct{}, leave func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || !w.listening || w.count >= maxWaiters {
		return nil, func() {}, false
	}
	mine := make(chan struct{}, 1)
	if w.waiting[id] == nil {
		w.waiting[id] = map[chan struct{}]struct{}{}
	}
	w.waiting[id][mine] = struct{}{}
	w.count++
	return mine, func() { w.leave(id, mine) }, true
}

func (w *Waiters) leave(id string, mine chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiting[id], mine)
	if len(w.waiting[id]) == 0 {
		delete(w.waiting, id)
	}
	w.count--
}

// End closes the channels of all waiting requests, and refuses others from now on: the process stops.
func (w *Waiters) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	for _, waiters := range w.waiting {
		for waiter := range waiters {
			close(waiter)
		}
	}
	clear(w.waiting)
}

// Run listens until the context ends.
func (w *Waiters) Run(ctx context.Context) {
	for ctx.Err() == nil {
		err := goroutine.Recovered(func() error { return w.listen(ctx) })
		if ctx.Err() != nil {
			err = nil
		}
		w.setListening(false, err)
		select {
		case <-ctx.Done():
		case <-time.After(resubscribePause):
		}
	}
}

func (w *Waiters) listen(ctx context.Context) error {
	subscription := w.client.Subscribe(ctx, settledChannel)
	defer subscription.Close()
	// A blocked read does not look at the context, but ends with its connection.
	defer context.AfterFunc(ctx, func() { subscription.Close() })()
	if _, err := subscription.ReceiveTimeout(ctx, redisTimeout); err != nil {
		return err
	}
	w.setListening(true, nil)
	for pinged := false; ; {
		received, err := subscription.ReceiveTimeout(ctx, w.ping)
		if silence, ok := errors.AsType[net.Error](err); ok && silence.Timeout() && !pinged {
			// A machine that fails does not close its connections.
			pinged, err = true, subscription.Ping(ctx)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		pinged = false
		if message, ok := received.(*redis.Message); ok {
			w.wake(message.Payload)
		}
	}
}

func (w *Waiters) setListening(listening bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed := w.listening != listening
	w.listening = listening
	w.once.Do(func() {
		close(w.tried)
		changed = true
	})
	if changed && err != nil {
		w.log.Warn("no subscription to settled environments", "error", err.Error())
	}
}

func (w *Waiters) wake(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for waiter := range w.waiting[id] {
		select {
		case waiter <- struct{}{}:
		default:
		}
	}
}
