// Package monitor serves metrics, liveness and readiness of a process.
package monitor

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"attestry/evidence"
	"attestry/goroutine"
)

// pingTimeout bounds how long a dependency may take to answer.
const pingTimeout = 3 * time.Second

// Check checks one dependency.
type Check struct {
	Name string
	Ping func(ctx context.Context) error
	// Required dependencies are needed to serve requests. Without the others the service is degraded, but ready.
	Required bool
	// Retention says whether the dependency prevents the deletion of objects, "" if it has none.
	Retention string
	// Warning returns what is wrong although the dependency answers, or "". It may be nil.
	Warning func() string
	// KeepFor is how long a result is cached.
	KeepFor time.Duration
}

// Readiness checks the dependencies of a process and caches the results.
type Readiness struct {
	checks []*cachedCheck
}

type cachedCheck struct {
	Check
	clock evidence.Clock
	mu    sync.Mutex
	at    time.Time // of err
	err   error
}

// NewReadiness makes a Readiness without cached results.
func NewReadiness(checks []Check, clock evidence.Clock) *Readiness {
	return &Readiness{checks: evidence.Map(checks, func(check Check) *cachedCheck { return &cachedCheck{Check: check, clock: clock} })}
}

// run returns the cached result or a new one. Concurrent callers share one check.
func (k *cachedCheck) run(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.clock()
	if !k.at.IsZero() && now.Sub(k.at) < k.KeepFor {
		return k.err
	}
	// The end of one caller's context must not fail the check for the others.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	k.err = goroutine.Recovered(func() error { return k.Ping(ctx) })
	k.at = now
	return k.err
}

// Dependency is the state of one dependency in /readyz.
type Dependency struct {
	Name     string `json:"name"`
	Ready    bool   `json:"ready"`
	Required bool   `json:"required"`
	Reason   string `json:"reason,omitempty"`
	// Retention says whether an object store prevents the deletion of objects.
	Retention string `json:"retention,omitempty"`
	// Warning is what is wrong although the dependency is ready.
	Warning string `json:"warning,omitempty"`
	// Message is the public part of the reason.
	Message string `json:"-"`
}

// States checks all dependencies concurrently, and reports whether all required ones answer.
func (r *Readiness) States(ctx context.Context) ([]Dependency, bool) {
	states := make([]Dependency, len(r.checks))
	var group goroutine.Group
	for i, check := range r.checks {
		group.Go(func() error {
			states[i] = Dependency{Name: check.Name, Required: check.Required, Ready: true, Retention: check.Retention}
			if check.Warning != nil {
				states[i].Warning = check.Warning()
			}
			if err := check.run(ctx); err != nil {
				states[i].Ready = false
				states[i].Reason = err.Error()
				states[i].Message = evidence.MessageOf(err, check.Name+" does not answer.")
			}
			return nil
		})
	}
	_ = group.Wait() // a failed check is a state
	return states, !slices.ContainsFunc(states, func(state Dependency) bool { return state.Required && !state.Ready })
}

// New serves /metrics, /healthz (the process lives) and /readyz (each dependency, with the reason).
func New(gatherer prometheus.Gatherer, checks []Check, clock evidence.Clock) http.Handler {
	readiness := NewReadiness(checks, clock)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeMonitor(w, http.StatusOK, map[string]any{"alive": true})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		states, ready := readiness.States(r.Context())
		status := http.StatusOK
		if !ready {
			status = http.StatusServiceUnavailable
		}
		writeMonitor(w, status, map[string]any{"ready": ready, "dependencies": states})
	})
	return mux
}

func writeMonitor(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// An error means that the client has disconnected.
	_ = json.NewEncoder(w).Encode(body)
}

// Limit is a limit of this process with its use.
type Limit struct {
	// Name is that of the limit in the metrics.
	Name string
	// Max is the limit, 0 for none.
	Max int
	// Used is how much of it is in use now.
	Used func() int
}

// RegisterLimits registers metrics of limits, which must have different names.
func RegisterLimits(registerer prometheus.Registerer, limits ...Limit) {
	for _, limit := range limits {
		if limit.Max == 0 {
			continue
		}
		labels := prometheus.Labels{"limit": limit.Name}
		registerer.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "attestry_limit_used", Help: "How much of a limit of this process is in use.", ConstLabels: labels,
		}, func() float64 { return float64(limit.Used()) }), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "attestry_limit_max", Help: "How much of a limit of this process can be in use.", ConstLabels: labels,
		}, func() float64 { return float64(limit.Max) }))
	}
}
