package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/process"
	"attestry/tasks/reports"
)

// jobsTimeout bounds how long a scrape waits for the database.
const jobsTimeout = 5 * time.Second

// jobCollector counts durable work by kind and state when it is asked: four commands for each kind.
type jobCollector struct {
	jobs   *prometheus.Desc
	counts map[*job.Kind]func(context.Context) (map[job.Stage]int64, error)
	log    *slog.Logger
}

func registerJobCollector(p *process.Process) error {
	parked := reports.NewParked(p.Store, p.Clock)
	return p.Metrics.Register(&jobCollector{
		log: p.Log,
		jobs: prometheus.NewDesc("attestry_jobs",
			"How much durable work there is, by kind and state: waiting, leased, failed (and tried again) or parked.", []string{"kind", "state"}, nil),
		counts: map[*job.Kind]func(context.Context) (map[job.Stage]int64, error){
			&job.Report: func(ctx context.Context) (map[job.Stage]int64, error) {
				return parked.CountJobs(ctx, evidence.Seconds(p.Clock()))
			},
			&job.Fanout:   p.Store.Outbox.CountJobs,
			&job.Send:     p.Store.Deliveries.CountJobs,
			&job.Assemble: p.Store.Assemblies.CountJobs,
		},
	})
}

// Describe names the metric.
func (c *jobCollector) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- c.jobs }

// Collect counts. A database that is away gives no values.
func (c *jobCollector) Collect(values chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), jobsTimeout)
	defer cancel()
	for kind, count := range c.counts {
		counts, err := count(ctx)
		if err != nil {
			c.log.Warn("could not count durable work", "kind", kind.Name, "error", err.Error())
			return
		}
		for stage, n := range counts {
			values <- prometheus.MustNewConstMetric(c.jobs, prometheus.GaugeValue, float64(n), kind.Name, string(stage))
		}
	}
}
