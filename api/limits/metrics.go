// Package limits limits the rates of keys, organizations and addresses with wrong keys (docs/semantics.md 2.6).
package limits

import (
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"attestry/config"
	"attestry/evidence"
	"attestry/monitor"
)

// The kinds of limits, which are labels of metrics.
const (
	ofKey          = "key"
	ofOrganization = "organization"
	ofAddress      = "address"
)

// Metrics are the metrics of the limits.
type Metrics struct {
	refused   *prometheus.CounterVec
	unlimited prometheus.Counter
	fullest   map[string]*fullest // by kind
}

// NewMetrics makes and registers the metrics of the limits.
func NewMetrics(registerer prometheus.Registerer, limits config.Limits, clock evidence.Clock) *Metrics {
	m := &Metrics{
		fullest: map[string]*fullest{},
		refused: promauto.With(registerer).NewCounterVec(prometheus.CounterOpts{
			Name: "attestry_limit_refusals_total",
			Help: "Requests that were answered 429, by the kind of the limit: key, organization, address.",
		}, []string{"kind"}),
		unlimited: promauto.With(registerer).NewCounter(prometheus.CounterOpts{
			Name: "attestry_unlimited_requests_total",
			Help: "Requests that no rate limit was applied to, because Redis was away.",
		}),
	}
	for kind, perMinute := range map[string]int{ofKey: limits.RateLimitKey, ofOrganization: limits.RateLimitOrg, ofAddress: limits.FailedKeyLimit} {
		m.refused.WithLabelValues(kind)
		of := &fullest{perMinute: perMinute, clock: clock}
		m.fullest[kind] = of
		monitor.RegisterLimits(registerer, monitor.Limit{Name: kind, Max: perMinute, Used: func() int { return of.observe(0) }})
	}
	return m
}

// fullest is the fill level of the fullest bucket of a kind that this process has used.
type fullest struct {
	perMinute int
	clock     evidence.Clock

	mu sync.Mutex
	// held is the number of requests in the fullest bucket at the time at. It decreases by perMinute each minute.
	held float64
	at   time.Time
}

// observe records the number of requests in a bucket now, and returns that of the fullest bucket.
func (f *fullest) observe(held int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock()
	left := f.held - float64(f.perMinute)*now.Sub(f.at).Minutes()
	f.held, f.at = max(left, float64(held)), now
	return int(math.Round(f.held))
}
