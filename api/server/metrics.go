package server

import (
	"cmp"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"attestry/api/memory"
)

type metrics struct {
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
	rejected *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer, budget *memory.Budget) *metrics {
	own := promauto.With(registerer)
	own.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "attestry_memory_budget_bytes",
		Help: "Memory that the bodies and answers of all requests under way may take up.",
	}, func() float64 { return float64(budget.Total()) })
	own.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "attestry_memory_reserved_bytes",
		Help: "How much of the memory budget is reserved by requests under way.",
	}, func() float64 { return float64(budget.InUse()) })
	own.NewCounterFunc(prometheus.CounterOpts{
		Name: "attestry_memory_refusals_total",
		Help: "How often a request was refused for a lack of memory in the budget.",
	}, func() float64 { return float64(budget.Refused()) })
	return &metrics{
		duration: own.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "attestry_http_request_duration_seconds",
			Help:    "Time to answer a request, by method, route and status.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"method", "route", "status"}),
		inFlight: own.NewGauge(prometheus.GaugeOpts{
			Name: "attestry_http_requests_in_flight",
			Help: "Requests being served now.",
		}),
		rejected: own.NewCounterVec(prometheus.CounterOpts{
			Name: "attestry_http_requests_rejected_total",
			Help: "Requests that were malformed or of an unknown method, by status. They are in no other metric.",
		}, []string{"status"}),
	}
}

func (m *metrics) requestFinished(r *Request, status int, took time.Duration) {
	m.inFlight.Dec()
	// Requests without an operation share one label, so that clients cannot make series at will.
	route := cmp.Or(r.route, "none")
	m.duration.WithLabelValues(r.method, route, strconv.Itoa(status)).Observe(took.Seconds())
}
