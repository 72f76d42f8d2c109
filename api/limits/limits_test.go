package limits

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

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
	clock   *evidencetest.Clock
	journal *journal
	log     *slog.Logger
	metrics *Metrics
}

func newSurroundings(t *testing.T) *surroundings {
	t.Helper()
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	j := &journal{}
	withoutTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	return &surroundings{
		clock: evidencetest.NewClock(noon), journal: j, metrics: metrics,
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
