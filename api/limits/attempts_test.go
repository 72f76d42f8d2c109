package limits

import (
	"errors"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"attestry/evidence"
)

func from(peer string, forwarded ...string) Origin {
	return Origin{Peer: netip.MustParseAddr(peer), ForwardedFor: forwarded}
}

func newAttempts(s *fixture, perMinute int, trusted ...string) *Attempts {
	return NewAttempts(AttemptsOptions{
		PerMinute: perMinute, Proxies: proxies(trusted...), Clock: s.clock.Now, Log: s.log, Metrics: s.metrics,
	})
}

var unauthorized = evidence.NewError(evidence.Unauthorized, "no such key")

// fail makes a number of failed attempts, none of which may exceed the limit.
func fail(t *testing.T, a *Attempts, from Origin, times int) {
	t.Helper()
	for i := range times {
		if err := a.Judge(from, unauthorized); evidence.CodeOf(err) != evidence.Unauthorized {
			t.Fatalf("attempt %d: %v", i, err)
		}
	}
}

func TestTooManyFailedAttemptsOfAnAddressAreRefused(t *testing.T) {
	s := newFixture(t)
	a := newAttempts(s, 30)
	fail(t, a, from("203.0.113.5"), 30)
	for range 5 {
		wantRefusal(t, a.Judge(from("203.0.113.5"), unauthorized), attemptsMessage, 2*time.Second)
	}
	fail(t, a, from("203.0.113.6"), 1)
	s.clock.Advance(time.Second)
	wantRefusal(t, a.Judge(from("203.0.113.5"), unauthorized), attemptsMessage, time.Second)
	s.clock.Advance(time.Second)
	fail(t, a, from("203.0.113.5"), 1)
	wantRefusal(t, a.Judge(from("203.0.113.5"), unauthorized), attemptsMessage, 2*time.Second)
	s.clock.Advance(time.Hour)
	fail(t, a, from("203.0.113.5"), 30)
	wantRefusal(t, a.Judge(from("203.0.113.5"), unauthorized), attemptsMessage, 2*time.Second)
	if got := s.refused(t, ofAddress); got != 8 {
		t.Errorf("%v refusals are counted", got)
	}
}

func TestOnlyFailedAttemptsCountAndAreRefused(t *testing.T) {
	s := newFixture(t)
	a := newAttempts(s, 2)
	others := map[string]error{
		"admitted":       nil,
		"forbidden":      evidence.NewError(evidence.Forbidden, "not there"),
		"outage":         &evidence.Error{Code: evidence.Unavailable, Message: "later"},
		"internal error": errors.New("broken"),
	}
	for name, err := range others {
		for range 5 {
			if got := a.Judge(from("203.0.113.5"), err); !errors.Is(got, err) {
				t.Errorf("%s is answered %v", name, got)
			}
		}
	}
	fail(t, a, from("203.0.113.5"), 2)
	for name, err := range others {
		if got := a.Judge(from("203.0.113.5"), err); !errors.Is(got, err) {
			t.Errorf("%s is answered %v beyond the limit", name, got)
		}
	}
	wantRefusal(t, a.Judge(from("203.0.113.5"), unauthorized), attemptsMessage, 30*time.Second)
}

func TestAttemptsUnderWayTogetherAreLimited(t *testing.T) {
	s := newFixture(t)
	a := newAttempts(s, 60)
	var clients sync.WaitGroup
	var failed atomic.Int64
	for range 100 {
		clients.Go(func() {
			if evidence.CodeOf(a.Judge(from("203.0.113.5"), unauthorized)) == evidence.Unauthorized {
				failed.Add(1)
			}
		})
	}
	clients.Wait()
	if failed.Load() != 60 {
		t.Errorf("%d of 100 attempts were let through", failed.Load())
	}
	wantRefusal(t, a.Judge(from("203.0.113.5"), unauthorized), attemptsMessage, time.Second)
}

func TestAddressesAreBounded(t *testing.T) {
	s := newFixture(t)
	a := newAttempts(s, 1)
	fail(t, a, from("203.0.113.5"), 1)
	address := netip.MustParseAddr("10.0.0.0")
	for range maxAddresses {
		address = address.Next()
		fail(t, a, Origin{Peer: address}, 1)
	}
	if err := a.Judge(from("203.0.113.5"), unauthorized); evidence.CodeOf(err) != evidence.Unauthorized {
		t.Error("the address that failed longest ago is still remembered")
	}
	wantRefusal(t, a.Judge(Origin{Peer: address}, unauthorized), attemptsMessage, time.Minute)
}

func TestClientsOfATrustedProxyAreCountedSeparately(t *testing.T) {
	s := newFixture(t)
	a := newAttempts(s, 2, "10.0.0.0/8")
	fail(t, a, from("10.0.0.1", "198.51.100.7"), 2)
	fail(t, a, from("10.0.0.1", "198.51.100.8"), 1)
	wantRefusal(t, a.Judge(from("10.0.0.2", "198.51.100.7"), unauthorized), attemptsMessage, 30*time.Second)
	if lines := s.journal.lines(); len(lines) != 0 {
		t.Errorf("logged %q", lines)
	}
}

func TestProxyThatIsNotTrustedIsLoggedOnce(t *testing.T) {
	s := newFixture(t)
	a := newAttempts(s, 1)
	fail(t, a, from("203.0.113.5"), 1)
	fail(t, a, from("10.0.0.1", "198.51.100.7"), 1)
	for range 3 {
		wantRefusal(t, a.Judge(from("203.0.113.5"), unauthorized), attemptsMessage, time.Minute)
	}
	if lines := s.journal.lines(); len(lines) != 0 {
		t.Errorf("without X-Forwarded-For, logged %q", lines)
	}
	for range 3 {
		wantRefusal(t, a.Judge(from("10.0.0.1", "198.51.100.8"), unauthorized), attemptsMessage, time.Minute)
	}
	lines := s.journal.lines()
	if len(lines) != 1 || !strings.Contains(lines[0], "level=WARN") || !strings.Contains(lines[0], "address=10.0.0.1") {
		t.Errorf("logged %q", lines)
	}
}

func TestWithoutALimitNoAttemptIsRefused(t *testing.T) {
	var a *Attempts
	fail(t, a, from("203.0.113.5"), 1000)
}
