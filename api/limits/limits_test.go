package limits

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"attestry/config"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
)

// noon is when the clock of a test starts.
var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// journal keeps what is logged.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

// lines are the messages that were logged.
func (j *journal) lines() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var messages []string
	for line := range strings.Lines(j.text.String()) {
		messages = append(messages, strings.TrimSpace(line))
	}
	return messages
}

// surroundings are what limits need around them.
type surroundings struct {
	clock    *evidencetest.Clock
	journal  *journal
	log      *slog.Logger
	registry *prometheus.Registry
	metrics  *Metrics
}

func newSurroundings(t *testing.T) *surroundings {
	t.Helper()
	clock, registry := evidencetest.NewClock(noon), prometheus.NewRegistry()
	metrics := NewMetrics(registry, config.Limits{RateLimitKey: 3, FailedKeyLimit: 30}, clock.Now)
	j := &journal{}
	withoutTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	return &surroundings{
		clock: clock, journal: j, metrics: metrics, registry: registry,
		log: slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{ReplaceAttr: withoutTime})),
	}
}

func valueOf(t *testing.T, counter prometheus.Counter) float64 {
	t.Helper()
	var value dto.Metric
	if err := counter.Write(&value); err != nil {
		t.Fatal(err)
	}
	return value.GetCounter().GetValue()
}

func (s *surroundings) refused(t *testing.T, kind string) float64 {
	t.Helper()
	return valueOf(t, s.metrics.refused.WithLabelValues(kind))
}

func (s *surroundings) unlimited(t *testing.T) float64 {
	t.Helper()
	return valueOf(t, s.metrics.unlimited)
}

// uses reads how far away each limit is.
func (s *surroundings) uses(t *testing.T) string {
	t.Helper()
	families, err := s.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var uses []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if strings.HasPrefix(family.GetName(), "attestry_limit_") && metric.GetGauge() != nil {
				uses = append(uses, fmt.Sprint(family.GetName(), " ", metric.GetLabel()[0].GetValue(), " ", metric.GetGauge().GetValue()))
			}
		}
	}
	return strings.Join(uses, ", ")
}

// TestMetricsShowTheFullestBuckets has buckets of a key that is refused and of one that is not, and of addresses.
func TestMetricsShowTheFullestBuckets(t *testing.T) {
	s, server := newSurroundings(t), startRedis(t)
	r, a := newRates(s, server.buckets(t), 3, 0), newAttempts(s, 30)
	const most = "attestry_limit_max address 30, attestry_limit_max key 3, "
	if got := s.uses(t); got != most+"attestry_limit_used address 0, attestry_limit_used key 0" {
		t.Error(got)
	}
	for _, id := range []string{"one", "one", "two"} {
		if _, err := r.Take(t.Context(), key(id), "acme"); err != nil {
			t.Fatal(err)
		}
	}
	fail(t, a, from("203.0.113.5"), 12)
	fail(t, a, from("203.0.113.6"), 1)
	if got := s.uses(t); got != most+"attestry_limit_used address 12, attestry_limit_used key 2" {
		t.Error(got)
	}
	// Buckets lose as many requests in a minute as their limits are.
	s.clock.Advance(20 * time.Second)
	if got := s.uses(t); got != most+"attestry_limit_used address 2, attestry_limit_used key 1" {
		t.Error(got)
	}
	fail(t, a, from("203.0.113.7"), 31-1)
	wantRefusal(t, a.Judge(from("203.0.113.7"), unauthorized), attemptsMessage, 2*time.Second)
	if got := s.uses(t); got != most+"attestry_limit_used address 30, attestry_limit_used key 1" {
		t.Error(got)
	}
	s.clock.Advance(time.Hour)
	if got := s.uses(t); got != most+"attestry_limit_used address 0, attestry_limit_used key 0" {
		t.Error(got)
	}
}

// wantRefusal checks that an error is a refusal with a time to wait.
func wantRefusal(t *testing.T, err error, message string, after time.Duration) {
	t.Helper()
	refused, ok := err.(*evidence.Error)
	if !ok || refused.Code != evidence.RateLimited || refused.Message != message {
		t.Fatalf("got %v, want %q", err, message)
	}
	if off := refused.RetryAfter - after; off < -time.Millisecond || off > time.Millisecond {
		t.Errorf("to be tried again after %v, want %v", refused.RetryAfter, after)
	}
}
