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

// noon is the start time of the clocks of tests.
var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// journal records what is logged.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *journal) lines() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var messages []string
	for line := range strings.Lines(j.text.String()) {
		messages = append(messages, strings.TrimSpace(line))
	}
	return messages
}

type fixture struct {
	clock    *evidencetest.Clock
	journal  *journal
	log      *slog.Logger
	registry *prometheus.Registry
	metrics  *Metrics
}

func newFixture(t *testing.T) *fixture {
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
	return &fixture{
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

func (s *fixture) refused(t *testing.T, kind string) float64 {
	t.Helper()
	return valueOf(t, s.metrics.refused.WithLabelValues(kind))
}

func (s *fixture) unlimited(t *testing.T) float64 {
	t.Helper()
	return valueOf(t, s.metrics.unlimited)
}

// usage returns the gauges of the limits, as text.
func (s *fixture) usage(t *testing.T) string {
	t.Helper()
	families, err := s.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var usage []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if strings.HasPrefix(family.GetName(), "attestry_limit_") && metric.GetGauge() != nil {
				usage = append(usage, fmt.Sprint(family.GetName(), " ", metric.GetLabel()[0].GetValue(), " ", metric.GetGauge().GetValue()))
			}
		}
	}
	return strings.Join(usage, ", ")
}

func TestMetricsShowTheFullestBuckets(t *testing.T) {
	s, server := newFixture(t), startRedis(t)
	r, a := newRates(s, server.buckets(t), 3, 0), newAttempts(s, 30)
	const most = "attestry_limit_max address 30, attestry_limit_max key 3, "
	if got := s.usage(t); got != most+"attestry_limit_used address 0, attestry_limit_used key 0" {
		t.Error(got)
	}
	for _, id := range []string{"one", "one", "two"} {
		if _, err := r.Take(t.Context(), key(id), "acme"); err != nil {
			t.Fatal(err)
		}
	}
	fail(t, a, from("203.0.113.5"), 12)
	fail(t, a, from("203.0.113.6"), 1)
	if got := s.usage(t); got != most+"attestry_limit_used address 12, attestry_limit_used key 2" {
		t.Error(got)
	}
	// A bucket drains its whole limit in a minute.
	s.clock.Advance(20 * time.Second)
	if got := s.usage(t); got != most+"attestry_limit_used address 2, attestry_limit_used key 1" {
		t.Error(got)
	}
	fail(t, a, from("203.0.113.7"), 31-1)
	wantRefusal(t, a.Judge(from("203.0.113.7"), unauthorized), attemptsMessage, 2*time.Second)
	if got := s.usage(t); got != most+"attestry_limit_used address 30, attestry_limit_used key 1" {
		t.Error(got)
	}
	s.clock.Advance(time.Hour)
	if got := s.usage(t); got != most+"attestry_limit_used address 0, attestry_limit_used key 0" {
		t.Error(got)
	}
}

// wantRefusal checks that an error is a refusal with this message and time to wait.
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
