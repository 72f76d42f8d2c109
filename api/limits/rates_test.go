package limits

import (
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/go-redis/redis_rate/v10"

	"attestry/evidence"
	"attestry/tasks"
)

// redisServer is a Redis server whose clock advances only when a test advances it.
type redisServer struct {
	*miniredis.Miniredis
	now time.Time
}

func startRedis(t *testing.T) *redisServer {
	t.Helper()
	server := &redisServer{Miniredis: miniredis.RunT(t), now: noon}
	server.SetTime(noon)
	return server
}

func (r *redisServer) advance(span time.Duration) {
	r.now = r.now.Add(span)
	r.SetTime(r.now)
	r.FastForward(span)
}

func (r *redisServer) buckets(t *testing.T) Buckets {
	t.Helper()
	client, err := tasks.NewRedis("redis://"+r.Addr(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return redis_rate.NewLimiter(client)
}

// newRates makes limits with a timeout that suffices on a busy machine.
func newRates(s *fixture, buckets Buckets, perKey, perOrganization int) *Rates {
	r := &Rates{
		PerKey: perKey, PerOrganization: perOrganization, Buckets: buckets, Clock: s.clock.Now, Log: s.log, Metrics: s.metrics,
	}
	r.timeout = time.Minute
	return r
}

// key returns a principal that uses the key with this id.
func key(id string) evidence.Principal {
	return evidence.Principal{UserID: "user of " + id, KeyID: id}
}

// wantState takes one request, which must be allowed, and checks the resulting state.
func wantState(t *testing.T, r *Rates, principal evidence.Principal, orgID string, want State) {
	t.Helper()
	got, err := r.Take(t.Context(), principal, orgID)
	if off := got.Reset - want.Reset; off < -time.Millisecond || off > time.Millisecond {
		t.Errorf("reset after %v, want %v", got.Reset, want.Reset)
	}
	if got.Reset = want.Reset; err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

func TestKeyIsLimited(t *testing.T) {
	s, server := newFixture(t), startRedis(t)
	r := newRates(s, server.buckets(t), 3, 0)
	for remaining := 2; remaining >= 0; remaining-- {
		wantState(t, r, key("one"), "acme", State{Limit: 3, Remaining: remaining, Reset: time.Duration(3-remaining) * 20 * time.Second})
	}
	left, err := r.Take(t.Context(), key("one"), "acme")
	wantRefusal(t, err, rateMessage, 20*time.Second)
	if left.Limit != 3 || left.Remaining != 0 {
		t.Errorf("left %+v", left)
	}
	wantState(t, r, key("two"), "acme", State{Limit: 3, Remaining: 2, Reset: 20 * time.Second})
	server.advance(20 * time.Second)
	wantState(t, r, key("one"), "acme", State{Limit: 3, Remaining: 0, Reset: time.Minute})
	server.advance(time.Minute)
	wantState(t, r, key("one"), "acme", State{Limit: 3, Remaining: 2, Reset: 20 * time.Second})
	if s.refused(t, ofKey) != 1 || s.refused(t, ofOrganization) != 0 || s.unlimited(t) != 0 {
		t.Error("the metrics are wrong")
	}
}

func TestOrganizationIsLimited(t *testing.T) {
	s, server := newFixture(t), startRedis(t)
	r := newRates(s, server.buckets(t), 0, 2)
	wantState(t, r, key("one"), "acme", State{Limit: 2, Remaining: 1, Reset: 30 * time.Second})
	wantState(t, r, key("two"), "acme", State{Limit: 2, Remaining: 0, Reset: time.Minute})
	_, err := r.Take(t.Context(), key("three"), "acme")
	wantRefusal(t, err, rateMessage, 30*time.Second)
	wantState(t, r, key("three"), "other", State{Limit: 2, Remaining: 1, Reset: 30 * time.Second})
	if s.refused(t, ofOrganization) != 1 || s.refused(t, ofKey) != 0 {
		t.Error("the metrics are wrong")
	}
}

func TestRequestBeyondTheLimitOfItsKeyDoesNotCountForTheOrganization(t *testing.T) {
	s, server := newFixture(t), startRedis(t)
	r := newRates(s, server.buckets(t), 1, 3)
	wantState(t, r, key("greedy"), "acme", State{Limit: 1, Remaining: 0, Reset: time.Minute})
	for range 5 {
		_, err := r.Take(t.Context(), key("greedy"), "acme")
		wantRefusal(t, err, rateMessage, time.Minute)
	}
	wantState(t, r, key("two"), "acme", State{Limit: 1, Remaining: 0, Reset: time.Minute})
	wantState(t, r, key("three"), "acme", State{Limit: 1, Remaining: 0, Reset: time.Minute})
	_, err := r.Take(t.Context(), key("four"), "acme")
	wantRefusal(t, err, rateMessage, 20*time.Second)
}

func TestStateIsThatOfTheFullerBucket(t *testing.T) {
	s, server := newFixture(t), startRedis(t)
	r := newRates(s, server.buckets(t), 4, 6)
	wantState(t, r, key("one"), "acme", State{Limit: 4, Remaining: 3, Reset: 15 * time.Second})
	for remaining := 4; remaining >= 2; remaining-- {
		if _, err := r.Take(t.Context(), key("two"), "acme"); err != nil {
			t.Fatal(err)
		}
	}
	wantState(t, r, key("three"), "acme", State{Limit: 6, Remaining: 1, Reset: 50 * time.Second})
}

func TestRequestWithoutOrganizationCountsOnlyForItsKey(t *testing.T) {
	s, server := newFixture(t), startRedis(t)
	buckets := server.buckets(t)
	both, organizations := newRates(s, buckets, 2, 1), newRates(s, buckets, 0, 1)
	wantState(t, both, key("one"), "", State{Limit: 2, Remaining: 1, Reset: 30 * time.Second})
	wantState(t, organizations, key("one"), "", State{})
	wantState(t, both, key("one"), "acme", State{Limit: 2, Remaining: 0, Reset: time.Minute})
}

func TestProcessesShareTheBuckets(t *testing.T) {
	s, server := newFixture(t), startRedis(t)
	one, other := newRates(s, server.buckets(t), 2, 0), newRates(s, server.buckets(t), 2, 0)
	wantState(t, one, key("one"), "acme", State{Limit: 2, Remaining: 1, Reset: 30 * time.Second})
	wantState(t, other, key("one"), "acme", State{Limit: 2, Remaining: 0, Reset: time.Minute})
	_, err := one.Take(t.Context(), key("one"), "acme")
	wantRefusal(t, err, rateMessage, 30*time.Second)
}

func TestBucketIsFullAfterTheClockOfRedisWasSetBack(t *testing.T) {
	s, server := newFixture(t), startRedis(t)
	r := newRates(s, server.buckets(t), 1, 0)
	wantState(t, r, key("one"), "acme", State{Limit: 1, Remaining: 0, Reset: time.Minute})
	server.SetTime(noon.Add(-time.Hour))
	wantState(t, r, key("one"), "acme", State{Limit: 1, Remaining: 0, Reset: time.Minute})
	_, err := r.Take(t.Context(), key("one"), "acme")
	wantRefusal(t, err, rateMessage, time.Minute)
}

func TestBucketsAreNamedByIDsAndExpire(t *testing.T) {
	s, server := newFixture(t), startRedis(t)
	r := newRates(s, server.buckets(t), 2, 2)
	for _, principal := range []evidence.Principal{key("k1"), {UserID: "u1", Name: "anna"}} {
		if _, err := r.Take(t.Context(), principal, "o1"); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"rate:attestry:key:k1", "rate:attestry:organization:o1", "rate:attestry:user:u1"}
	if got := server.Keys(); !slices.Equal(got, want) {
		t.Errorf("buckets %q, want %q", got, want)
	}
	server.advance(time.Minute)
	if got := server.Keys(); len(got) != 0 {
		t.Errorf("after a minute there are %q", got)
	}
}

func TestWithoutALimitNoBucketIsUsed(t *testing.T) {
	s := newFixture(t)
	buckets := &fakeBuckets{}
	r := newRates(s, buckets, 0, 0)
	wantState(t, r, key("one"), "acme", State{})
	if buckets.count() != 0 {
		t.Error("a bucket was asked")
	}
	var none *Rates
	principal := key("one")
	allocated := testing.AllocsPerRun(100, func() {
		if left, err := none.Take(t.Context(), principal, "acme"); err != nil || left != (State{}) {
			t.Errorf("%+v, %v", left, err)
		}
	})
	if allocated != 0 {
		t.Errorf("%v allocations", allocated)
	}
}
