package limits

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"attestry/evidence"
)

func from(peer string, forwarded ...string) Origin {
	return Origin{Peer: netip.MustParseAddr(peer), ForwardedFor: forwarded}
}

func newAttempts(s *surroundings, perMinute int, trusted ...string) *Attempts {
	return NewAttempts(AttemptsOptions{
		PerMinute: perMinute, Proxies: proxies(trusted...), Clock: s.clock.Now, Log: s.log, Metrics: s.metrics,
	})
}

var (
	someone      = evidence.Principal{UserID: "anna", KeyID: "1"}
	unauthorized = evidence.NewError(evidence.Unauthorized, "no such key")
)

// fail makes so many failed attempts, which must all be allowed.
func fail(t *testing.T, a *Attempts, from Origin, times int) {
	t.Helper()
	for i := range times {
		secret := fmt.Sprint("wrong ", i)
		if err := a.Check(from, secret); err != nil {
			t.Fatalf("attempt %d: %v", i, err)
		}
		a.Note(from, secret, evidence.Principal{}, unauthorized)
	}
}

func TestAddressWithTooManyFailedAttemptsIsRefused(t *testing.T) {
	s := newSurroundings(t)
	a := newAttempts(s, 30)
	fail(t, a, from("203.0.113.5"), 30)
	wantRefusal(t, a.Check(from("203.0.113.5"), "wrong"), attemptsMessage, 2*time.Second)
	if err := a.Check(from("203.0.113.6"), "wrong"); err != nil {
		t.Errorf("another address: %v", err)
	}
	s.clock.Advance(time.Second)
	wantRefusal(t, a.Check(from("203.0.113.5"), "wrong"), attemptsMessage, time.Second)
	s.clock.Advance(time.Second)
	fail(t, a, from("203.0.113.5"), 1)
	wantRefusal(t, a.Check(from("203.0.113.5"), "wrong"), attemptsMessage, 2*time.Second)
	s.clock.Advance(time.Hour)
	fail(t, a, from("203.0.113.5"), 30)
	wantRefusal(t, a.Check(from("203.0.113.5"), "wrong"), attemptsMessage, 2*time.Second)
	if got := s.refused(t, ofAddress); got != 4 {
		t.Errorf("%v refusals are counted", got)
	}
}

func TestOnlyFailedAttemptsCount(t *testing.T) {
	s := newSurroundings(t)
	a := newAttempts(s, 2)
	for name, err := range map[string]error{
		"admitted":       nil,
		"outage":         &evidence.Error{Code: evidence.Unavailable, Message: "later"},
		"internal error": errors.New("broken"),
	} {
		t.Run(name, func(t *testing.T) {
			for range 5 {
				a.Note(from("203.0.113.5"), "secret", evidence.Principal{}, err)
			}
			if err := a.Check(from("203.0.113.5"), "other"); err != nil {
				t.Error(err)
			}
		})
	}
	for range 5 {
		a.Note(from("203.0.113.5"), "good", someone, evidence.NewError(evidence.Forbidden, "not there"))
	}
	if err := a.Check(from("203.0.113.5"), "other"); err != nil {
		t.Errorf("after refusals of a good key: %v", err)
	}
}

func TestGoodSecretIsTriedFromAnAddressThatIsRefused(t *testing.T) {
	s := newSurroundings(t)
	a := newAttempts(s, 2)
	a.Note(from("198.51.100.7"), "good", someone, nil)
	fail(t, a, from("203.0.113.5"), 2)
	if err := a.Check(from("203.0.113.5"), "good"); err != nil {
		t.Errorf("good secret: %v", err)
	}
	wantRefusal(t, a.Check(from("203.0.113.5"), "unknown"), attemptsMessage, 30*time.Second)
	// Once it is refused by the look-up, it is a wrong one like others.
	a.Note(from("203.0.113.5"), "good", evidence.Principal{}, unauthorized)
	wantRefusal(t, a.Check(from("203.0.113.5"), "good"), attemptsMessage, time.Minute)
}

func TestAttemptsUnderWayTogetherDelayTheNextOne(t *testing.T) {
	s := newSurroundings(t)
	a := newAttempts(s, 60)
	var clients sync.WaitGroup
	for i := range 100 {
		clients.Go(func() { a.Note(from("203.0.113.5"), fmt.Sprint(i), evidence.Principal{}, unauthorized) })
	}
	clients.Wait()
	wantRefusal(t, a.Check(from("203.0.113.5"), "wrong"), attemptsMessage, 41*time.Second)
}

func TestAddressesAndSecretsAreBounded(t *testing.T) {
	s := newSurroundings(t)
	a := newAttempts(s, 1)
	fail(t, a, from("203.0.113.5"), 1)
	a.Note(from("203.0.113.5"), "first", someone, nil)
	address := netip.MustParseAddr("10.0.0.0")
	for i := range max(maxAddresses, maxSecrets) {
		address = address.Next()
		fail(t, a, Origin{Peer: address}, 1)
		a.Note(Origin{Peer: address}, fmt.Sprint("good ", i), someone, nil)
	}
	if err := a.Check(from("203.0.113.5"), "wrong"); err != nil {
		t.Error("the address that failed longest ago is still remembered")
	}
	if err := a.Check(Origin{Peer: address}, "first"); err == nil {
		t.Error("the secret that was used longest ago is still remembered")
	}
	if err := a.Check(Origin{Peer: address}, "good 9999"); err != nil {
		t.Errorf("the last secret: %v", err)
	}
}

func TestClientsOfATrustedProxyAreCountedByThemselves(t *testing.T) {
	s := newSurroundings(t)
	a := newAttempts(s, 2, "10.0.0.0/8")
	fail(t, a, from("10.0.0.1", "198.51.100.7"), 2)
	if err := a.Check(from("10.0.0.1", "198.51.100.8"), "wrong"); err != nil {
		t.Errorf("another client: %v", err)
	}
	wantRefusal(t, a.Check(from("10.0.0.2", "198.51.100.7"), "wrong"), attemptsMessage, 30*time.Second)
	if lines := s.journal.lines(); len(lines) != 0 {
		t.Errorf("logged %q", lines)
	}
}

func TestProxyThatIsNotTrustedIsLoggedOnce(t *testing.T) {
	s := newSurroundings(t)
	a := newAttempts(s, 1)
	fail(t, a, from("203.0.113.5"), 1)
	fail(t, a, from("10.0.0.1", "198.51.100.7"), 1)
	for range 3 {
		wantRefusal(t, a.Check(from("203.0.113.5"), "wrong"), attemptsMessage, time.Minute)
	}
	if lines := s.journal.lines(); len(lines) != 0 {
		t.Errorf("without X-Forwarded-For, logged %q", lines)
	}
	for range 3 {
		wantRefusal(t, a.Check(from("10.0.0.1", "198.51.100.8"), "wrong"), attemptsMessage, time.Minute)
	}
	lines := s.journal.lines()
	if len(lines) != 1 || !strings.Contains(lines[0], "level=WARN") || !strings.Contains(lines[0], "address=10.0.0.1") {
		t.Errorf("logged %q", lines)
	}
	if slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, "wrong") }) {
		t.Error("a secret is in the log")
	}
}

func TestNoLimitOfAttemptsRefusesNothing(t *testing.T) {
	var a *Attempts
	fail(t, a, from("203.0.113.5"), 1000)
}
