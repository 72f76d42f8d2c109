// Package limits bounds how many requests a key and an organization may make in a minute, and
// how many wrong keys a client address may send (docs/semantics.md 2.6).
package limits

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// The kinds of limits, as the metric of refusals names them.
const (
	ofKey          = "key"
	ofOrganization = "organization"
	ofAddress      = "address"
)

// Metrics count what the limits did.
type Metrics struct {
	refused   *prometheus.CounterVec
	unlimited prometheus.Counter
}

// NewMetrics makes and registers the metrics of the limits.
func NewMetrics(registerer prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "attestry_limit_refusals_total",
			Help: "Requests that were answered 429, by the kind of the limit: key, organization, address.",
		}, []string{"kind"}),
		unlimited: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "attestry_unlimited_requests_total",
			Help: "Requests that no rate limit was applied to, because Redis was away.",
		}),
	}
	for _, kind := range []string{ofKey, ofOrganization, ofAddress} {
		m.refused.WithLabelValues(kind)
	}
	for _, collector := range []prometheus.Collector{m.refused, m.unlimited} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}
