package relay_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"attestry/evidence/job"
	"attestry/tasks/relay"
)

// queue is a fake that records the enqueued tasks.
type queue struct {
	mu      sync.Mutex
	tasks   []string // key and attempt
	waiting int
	err     error // returned by Enqueue
	// ask, if set, returns the error of Waiting.
	ask func() error
}

func (q *queue) Enqueue(_ context.Context, ref job.Ref, attempt int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tasks = append(q.tasks, ref.Key+":"+strconv.FormatInt(attempt, 10))
	return q.err
}

func (q *queue) Waiting(context.Context, string) (int, error) {
	if q.ask != nil {
		return q.waiting, q.ask()
	}
	return q.waiting, nil
}

// take returns the tasks that were enqueued since the last call.
func (q *queue) take() []string {
	taken := q.tasks
	q.tasks = nil
	slices.Sort(taken)
	return taken
}

func TestDueWorkIsEnqueuedAgainAfterAPause(t *testing.T) {
	now, elected := time.Unix(100, 0), false
	due := map[string]float64{"a": 90, "b": 100, "later": 200}
	source := func(_ context.Context, at float64, _ string) (refs []job.Ref, _ string, _ error) {
		for _, key := range []string{"a", "b", "later"} {
			if due[key] > 0 && due[key] <= at {
				refs = append(refs, job.Ref{Kind: &job.Send, Key: key, Due: due[key]})
			}
		}
		return refs, "", nil
	}
	q := &queue{}
	r := relay.New(job.QueueNotifications, q, func() time.Time { return now },
		func(context.Context) (bool, error) { return elected, nil }, source)
	step := func(name string, want ...string) {
		t.Helper()
		err := r.Relay(t.Context())
		if got := q.take(); !slices.Equal(got, want) || (err != nil) != (q.err != nil) {
			t.Errorf("%s: enqueued %v, want %v, %v", name, got, want, err)
		}
	}
	step("another process is elected")
	elected = true
	q.waiting = 10_000
	step("the queue is full")
	q.waiting, q.err = 9_999, errors.New("Redis is unreachable")
	step("Redis is unreachable", "a:90001")
	q.waiting, q.err = 0, nil
	step("Redis is reachable again", "a:90001", "b:100000")
	step("a moment later")
	due["b"] = 100.5
	now = now.Add(time.Second)
	step("due again", "b:100500")
	now = now.Add(10 * time.Second)
	step("ten seconds later", "a:90001", "b:100501")
	delete(due, "b")
	now = now.Add(100 * time.Second)
	step("when more is due", "a:90003", "later:200001")
	now = now.Add(time.Hour)
	step("an hour later", "a:90008", "later:200008")
	now = now.Add(-time.Minute)
	step("after the clock is set back", "a:90008", "later:200008")
	now = time.Unix(250, 0)
	step("after it is set back further", "a:90004", "later:200002")
}

// TestRelayEnqueuesNothingAfterAFailure has each question of a pass fail.
func TestRelayEnqueuesNothingAfterAFailure(t *testing.T) {
	failure := errors.New("a fault of a test")
	for at, name := range []string{"the first read", "the election", "the queue", "the second read"} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			ask := func() error {
				if asked++; asked == at+1 {
					return failure
				}
				return nil
			}
			source := func(context.Context, float64, string) ([]job.Ref, string, error) {
				return []job.Ref{{Kind: &job.Send, Key: "a", Due: 90}}, "", ask()
			}
			q := &queue{ask: ask}
			r := relay.New(job.QueueNotifications, q, func() time.Time { return time.Unix(100, 0) },
				func(context.Context) (bool, error) { return true, ask() }, source)
			if err := r.Relay(t.Context()); !errors.Is(err, failure) || len(q.tasks) > 0 {
				t.Errorf("enqueued %v, %v", q.tasks, err)
			}
			if err := r.Relay(t.Context()); err != nil || len(q.tasks) != 1 {
				t.Errorf("afterwards it enqueues %v, %v", q.tasks, err)
			}
		})
	}
}

// TestRelayReadsOnlyWhatItEnqueues has a source of endless pages of a thousand.
func TestRelayReadsOnlyWhatItEnqueues(t *testing.T) {
	read := 0
	source := func(context.Context, float64, string) ([]job.Ref, string, error) {
		refs := make([]job.Ref, 1_000)
		for i := range refs {
			refs[i] = job.Ref{Kind: &job.Send, Key: strconv.Itoa(1_000*read + i)}
		}
		read++
		return refs, "more", nil
	}
	q := &queue{waiting: 9_000}
	r := relay.New(job.QueueNotifications, q, func() time.Time { return time.Unix(100, 0) }, func(context.Context) (bool, error) { return true, nil }, source)
	if err := r.Relay(t.Context()); err != nil || read != 11 || len(q.tasks) != 1_000 {
		t.Errorf("read %d pages, enqueued %d tasks, %v", read, len(q.tasks), err)
	}
}

func TestWorkAfterAPageOfEnqueuedWorkIsEnqueued(t *testing.T) {
	now, late := time.Unix(100, 0), false
	source := func(_ context.Context, _ float64, after string) ([]job.Ref, string, error) {
		switch {
		case after == "":
			return []job.Ref{{Kind: &job.Send, Key: "a", Due: 90}}, "second page", nil
		case late:
			return []job.Ref{{Kind: &job.Send, Key: "b", Due: 99}}, "", nil
		}
		return nil, "", nil
	}
	q := &queue{}
	r := relay.New(job.QueueNotifications, q, func() time.Time { return now }, func(context.Context) (bool, error) { return true, nil }, source)
	for _, want := range [][]string{{"a:90001"}, {"b:99000"}} {
		if err := r.Relay(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := q.take(); !slices.Equal(got, want) {
			t.Errorf("enqueued %v, want %v", got, want)
		}
		late = true
	}
}

func TestNothingMoreIsEnqueuedAfterAFailure(t *testing.T) {
	due := make([]job.Ref, 1_000)
	for i := range due {
		due[i] = job.Ref{Kind: &job.Send, Key: strconv.Itoa(i)}
	}
	q := &queue{err: errors.New("Redis is unreachable")}
	err := relay.EnqueueAll(t.Context(), q, due, func(*job.Ref) int64 { return 0 })
	if tried := len(q.take()); tried > len(due)/4 || !errors.Is(err, q.err) {
		t.Errorf("tried %d tasks: %v", tried, err)
	}
}
