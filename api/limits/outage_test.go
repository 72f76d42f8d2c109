package limits

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"

	"attestry/tasks"
)

// fakeBuckets lets every request through, or fails as its fields say.
type fakeBuckets struct {
	mu    sync.Mutex
	calls int
	err   error
	// hangs makes calls last until their context ends.
	hangs bool
}

func (b *fakeBuckets) Allow(ctx context.Context, _ string, limit redis_rate.Limit) (*redis_rate.Result, error) {
	b.mu.Lock()
	b.calls++
	err, hangs := b.err, b.hangs
	b.mu.Unlock()
	if hangs {
		<-ctx.Done()
		err = ctx.Err()
	}
	return &redis_rate.Result{Limit: limit, Allowed: 1, Remaining: 7}, err
}

func (*fakeBuckets) Reset(context.Context, string) error { return nil }

func (b *fakeBuckets) set(hangs bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hangs, b.err = hangs, err
}

func (b *fakeBuckets) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls
}

// eventually fails the test if a condition does not hold within 20 s.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

var (
	limited   = State{Limit: 60, Remaining: 7}
	unlimited = State{}
)

func TestRequestsPassWhileRedisIsUnavailable(t *testing.T) {
	s, buckets := newFixture(t), &fakeBuckets{}
	r := newRates(s, buckets, 60, 0)
	wantState(t, r, key("one"), "acme", limited)
	buckets.set(false, errors.New("connection refused"))
	for range 10 {
		wantState(t, r, key("one"), "acme", unlimited)
	}
	if buckets.count() != 2 {
		t.Errorf("Redis was asked %d times", buckets.count())
	}
	if s.unlimited(t) != 10 {
		t.Errorf("%v requests are counted", s.unlimited(t))
	}
	lines := s.journal.lines()
	if len(lines) != 1 || !strings.Contains(lines[0], `level=WARN msg="Redis is away, rates are not limited" error="connection refused"`) {
		t.Errorf("logged %q", lines)
	}
}

func TestRedisIsProbedOncePerSecondDuringAnOutage(t *testing.T) {
	s, buckets := newFixture(t), &fakeBuckets{err: errors.New("connection refused")}
	r := newRates(s, buckets, 60, 0)
	wantState(t, r, key("one"), "acme", unlimited)
	for second := range 3 {
		s.clock.Advance(probePause - 1)
		wantState(t, r, key("one"), "acme", unlimited)
		if got := buckets.count(); got != second+1 {
			t.Fatalf("asked %d times within the pause", got)
		}
		s.clock.Advance(1)
		for range 5 {
			wantState(t, r, key("one"), "acme", unlimited)
		}
		eventually(t, "Redis is asked", func() bool { return buckets.count() == second+2 })
	}
	buckets.set(false, nil)
	s.clock.Advance(probePause)
	wantState(t, r, key("one"), "acme", unlimited)
	eventually(t, "its answer is logged", func() bool { return len(s.journal.lines()) == 2 })
	wantState(t, r, key("one"), "acme", limited)
	if lines := s.journal.lines(); !strings.Contains(lines[1], `level=INFO msg="Redis is back, rates are limited"`) {
		t.Errorf("logged %q", lines)
	}
	buckets.set(false, errors.New("connection refused"))
	wantState(t, r, key("one"), "acme", unlimited)
	if lines := s.journal.lines(); len(lines) != 3 {
		t.Errorf("the next outage: logged %q", lines)
	}
}

func TestNoRequestWaitsForARedisThatIsKnownToHang(t *testing.T) {
	s, buckets := newFixture(t), &fakeBuckets{hangs: true}
	r := newRates(s, buckets, 60, 60)
	r.timeout = time.Millisecond
	wantState(t, r, key("one"), "acme", unlimited)
	// From here on, a request that waited would do so for the rest of the test.
	r.timeout = time.Hour
	s.clock.Advance(probePause)
	for range 10 {
		wantState(t, r, key("one"), "acme", unlimited)
	}
	if lines := s.journal.lines(); len(lines) != 1 {
		t.Errorf("logged %q", lines)
	}
}

func TestOutageIsLoggedOnceForManyRequests(t *testing.T) {
	s, buckets := newFixture(t), &fakeBuckets{hangs: true}
	r := newRates(s, buckets, 60, 0)
	r.timeout = 50 * time.Millisecond
	var clients sync.WaitGroup
	for range 50 {
		clients.Go(func() { wantState(t, r, key("one"), "acme", unlimited) })
	}
	clients.Wait()
	if lines := s.journal.lines(); len(lines) != 1 {
		t.Errorf("logged %q", lines)
	}
}

func TestCanceledRequestIsNoOutage(t *testing.T) {
	s, server := newFixture(t), startRedis(t)
	r := newRates(s, server.buckets(t), 60, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Take(ctx, key("one"), "acme"); err != nil || s.unlimited(t) != 0 {
		t.Errorf("%v; %v requests without a limit, logged %q", err, s.unlimited(t), s.journal.lines())
	}
}

func TestRequestsPassIfRedisFails(t *testing.T) {
	hanging, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hanging.Close()
	full := startRedis(t)
	full.SetError("OOM command not allowed when used memory > 'maxmemory'.")
	gone := startRedis(t)
	closed := gone.Addr()
	gone.Close()
	for name, address := range map[string]string{
		"takes no connections": closed,
		"answers nothing":      hanging.Addr().String(),
		"refuses writes":       full.Addr(),
	} {
		t.Run(name, func(t *testing.T) {
			client, err := tasks.NewRedisWithin("redis://"+address, RedisTimeout, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			s := newFixture(t)
			r := newRates(s, redis_rate.NewLimiter(client), 60, 60)
			r.timeout = RedisTimeout
			began := time.Now()
			wantState(t, r, key("one"), "acme", unlimited)
			// Other commands of the process may take 3 s. A busy machine may take a second.
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("took %v", took)
			}
			if lines := s.journal.lines(); len(lines) != 1 {
				t.Errorf("logged %q", lines)
			}
		})
	}
}
