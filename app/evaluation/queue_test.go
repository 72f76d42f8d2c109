package evaluation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"attestry/evidence"
	"attestry/evidence/attestation"
	"attestry/evidence/evidencetest"
)

// blocking is an Evaluator whose evaluations block until they receive from end.
type blocking struct {
	*Evaluator
	mu    sync.Mutex
	begun []string // payloads, in the order in which their evaluations began
	end   chan struct{}
}

func newBlocking(slots, maxRunning, maxWaiting int) *blocking {
	b := &blocking{end: make(chan struct{})}
	b.Evaluator = &Evaluator{queue: newQueue(slots, maxRunning, maxWaiting), evaluate: func(ctx context.Context, r request) (answer, error) {
		b.mu.Lock()
		b.begun = append(b.begun, string(r.Payload))
		b.mu.Unlock()
		select {
		case <-b.end:
			return answer{Verdict: attestation.Verdict{Compliant: true}}, nil
		case <-ctx.Done():
			return answer{}, errTimeout
		}
	}}
	return b
}

// start starts an evaluation, and returns once it runs or waits. The channel gets its error.
func (b *blocking) start(ctx context.Context, org, payload string) <-chan error {
	result := make(chan error, 1)
	go func() {
		_, err := b.Evaluate(ctx, org, attestation.Definition{Rules: []string{"true"}}, []byte(payload))
		result <- err
	}()
	synctest.Wait()
	return result
}

func (b *blocking) want(t *testing.T, begun ...string) {
	t.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.begun, begun) {
		t.Errorf("begun: %v, want %v", b.begun, begun)
	}
}

func TestOrganizationsAreServedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBlocking(2, 2, 10)
		var results []<-chan error
		for i := range 5 {
			results = append(results, b.start(t.Context(), "large", fmt.Sprintf("l%d", i)))
		}
		for _, payload := range []string{"s0", "s1"} {
			results = append(results, b.start(t.Context(), "small", payload))
		}
		results = append(results, b.start(t.Context(), "other", "o0"))
		b.want(t, "l0", "l1")
		want := []string{"l0", "l1"}
		for _, next := range []string{"l2", "s0", "o0", "l3", "s1", "l4"} {
			b.end <- struct{}{}
			want = append(want, next)
			b.want(t, want...)
		}
		close(b.end)
		for i, result := range results {
			if err := <-result; err != nil {
				t.Errorf("%d: %v", i, err)
			}
		}
		if b.queue.free != 2 || len(b.queue.waiting)+len(b.queue.turns)+len(b.queue.running) != 0 {
			t.Errorf("the queue is not empty: %+v", b.queue)
		}
	})
}

func TestSlowEvaluationsOfOneOrganizationDoNotDelayAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBlocking(3, 2, 10)
		for i := range 4 {
			b.start(t.Context(), "slow", fmt.Sprintf("slow%d", i))
		}
		b.want(t, "slow0", "slow1")
		b.start(t.Context(), "other", "other")
		b.want(t, "slow0", "slow1", "other")
		close(b.end)
		synctest.Wait()
		if len(b.begun) != 5 {
			t.Errorf("begun: %v", b.begun)
		}
	})
}

func TestQueueOfAnOrganizationIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBlocking(1, 1, 2)
		for range 3 {
			b.start(t.Context(), "large", "l")
		}
		var refused *evidence.Error
		if err := <-b.start(t.Context(), "large", "l"); !errors.As(err, &refused) || refused.Code != evidence.Unavailable || refused.RetryAfter <= 0 {
			t.Errorf("got %v, want Unavailable", err)
		}
		small := b.start(t.Context(), "small", "s")
		close(b.end)
		if err := <-small; err != nil {
			t.Errorf("another organization: %v", err)
		}
	})
}

func TestWaitEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBlocking(1, 1, 2)
		b.start(t.Context(), "o", "running")
		ctx, cancel := context.WithCancel(t.Context())
		waiting := b.start(ctx, "o", "leaves")
		stays := b.start(t.Context(), "o", "stays")
		cancel()
		if err := <-waiting; evidence.CodeOf(err) != evidence.Unavailable {
			t.Errorf("got %v, want Unavailable", err)
		}
		if err := <-b.start(ctx, "o", "too late"); evidence.CodeOf(err) != evidence.Unavailable {
			t.Errorf("got %v, want Unavailable", err)
		}
		b.start(t.Context(), "o", "another") // may wait in place of the cancelled one
		b.end <- struct{}{}
		b.want(t, "running", "stays")
		close(b.end)
		evidencetest.Check(t, <-stays)
		b.want(t, "running", "stays", "another")
	})
}

func TestCancelledEvaluationReleasesItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBlocking(1, 1, 2)
		ctx, cancel := context.WithCancel(t.Context())
		running := b.start(ctx, "o", "running")
		next := b.start(t.Context(), "o", "next")
		cancel()
		if err := <-running; evidence.CodeOf(err) != evidence.Unavailable {
			t.Errorf("got %v, want Unavailable", err)
		}
		b.want(t, "running", "next")
		close(b.end)
		evidencetest.Check(t, <-next)
	})
}

func TestSlotOfAnAbandonedWaitGoesToTheNext(t *testing.T) {
	q := newQueue(1, 1, 2)
	leaving, err := q.join("o")
	evidencetest.Must(t, err)
	next, err := q.join("o")
	evidencetest.Must(t, err)
	<-leaving
	q.abandon("o", leaving)
	select {
	case <-next:
	default:
		t.Error("the slot is lost")
	}
}
