package server

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"attestry/evidence/job"
	"attestry/outbound"
	"attestry/process"
	"attestry/tasks/relay"
	"attestry/tasks/witness"
)

// cosigning is what has witnesses cosign the transparency logs.
type cosigning struct {
	relay *relay.Relay
	asker *witness.Asker
}

// newCosigning returns nil without witnesses.
func newCosigning(p *process.Process) (*cosigning, error) {
	witnesses := p.Settings.Log.Witnesses
	if len(witnesses) == 0 {
		return nil, nil
	}
	failures := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "attestry_log_witness_errors_total",
		Help: "How often witnesses have not cosigned a checkpoint of a transparency log, by reason.",
	}, []string{"witness", "reason"})
	if err := p.Metrics.Register(failures); err != nil {
		return nil, fmt.Errorf("register the metric of witnesses: %w", err)
	}
	count := func(name string, reason witness.Reason) { failures.WithLabelValues(name, string(reason)).Inc() }
	client := outbound.NewClient(outbound.Options{Allowed: p.Settings.Outbound.Allow})
	return &cosigning{
		relay: relay.New(job.QueueNotifications, p.Tasks, p.Clock, everyWorker, p.Store.Logs.Uncosigned),
		asker: witness.New(p.Store.Logs, witnesses, client, p.Clock, p.Log, count),
	}, nil
}
