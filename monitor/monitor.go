// Package monitor serves metrics, liveness and readiness of a process.
package monitor

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"attestry/evidence"
	"attestry/goroutine"
)

// pingTimeout bounds how long a dependency may take to answer.
const pingTimeout = 3 * time.Second

// Check asks one dependency whether it answers.
type Check struct {
	Name string
	Ping func(ctx context.Context) error
	// Required dependencies are needed to serve requests. Without the others the service is degraded, but ready.
	Required bool
	// Retention says whether the dependency keeps objects from deletion, "" if it has none.
	Retention string
	// Warning says what is wrong although the dependency answers, "" for nothing; nil if it tells nothing.
	Warning func() string
	// KeepFor is how long an answer is kept.
	KeepFor time.Duration
}

// Readiness asks the dependencies of a process and keeps their answers.
type Readiness struct {
	checks []*keptCheck
}

type keptCheck struct {
	Check
	clock evidence.Clock
	mu    sync.Mutex
	at    time.Time // of err
	err   error
}

// NewReadiness makes a Readiness without answers.
func NewReadiness(checks []Check, clock evidence.Clock) *Readiness {
	r := &Readiness{}
	for _, check := range checks {
		r.checks = append(r.checks, &keptCheck{Check: check, clock: clock})
	}
	return r
}

// ask returns the kept answer or a new one. Callers at the same time share one check.
func (k *keptCheck) ask(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.clock()
	if !k.at.IsZero() && now.Sub(k.at) < k.KeepFor {
		return k.err
	}
	// The end of one caller's context must not fail the check for all.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	k.err = goroutine.Recovered(func() error { return k.Ping(ctx) })
	k.at = now
	return k.err
}

// Dependency is the state of one dependency as /readyz tells it.
type Dependency struct {
	Name     string `json:"name"`
	Ready    bool   `json:"ready"`
	Required bool   `json:"required"`
	Reason   string `json:"reason,omitempty"`
	// Retention says whether an object store keeps objects from deletion.
	Retention string `json:"retention,omitempty"`
	// Warning is what is wrong although the dependency is ready.
	Warning string `json:"warning,omitempty"`
	// Message is what the public may read of the reason.
	Message string `json:"-"`
}

// States asks all dependencies at once, and reports whether all required ones answer.
func (r *Readiness) States(ctx context.Context) ([]Dependency, bool) {
	states := make([]Dependency, len(r.checks))
	var asking goroutine.Group
	for i, check := range r.checks {
		asking.Go(func() error {
			states[i] = Dependency{Name: check.Name, Required: check.Required, Ready: true, Retention: check.Retention}
			if check.Warning != nil {
				states[i].Warning = check.Warning()
			}
			if err := check.ask(ctx); err != nil {
				states[i].Ready = false
				states[i].Reason = err.Error()
				states[i].Message = evidence.MessageOf(err, check.Name+" does not answer.")
			}
			return nil
		})
	}
	_ = asking.Wait() // a check that fails is a state
	ready := true
	for _, state := range states {
		ready = ready && (state.Ready || !state.Required)
	}
	return states, ready
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
	// An error here means that nobody listens any more.
	_ = json.NewEncoder(w).Encode(body)
}

// Limit bounds something that grows and shrinks.
type Limit struct {
	// Name is that of the limit in the metrics.
	Name string
	// Max is the limit, 0 for none.
	Max int
	// Used is how much of it is in use now.
	Used func() int
}

// RegisterLimits has the metrics show how far away limits are, each of which must have a name of its own.
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
