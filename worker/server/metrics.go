package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"attestry/evidence/job"
	"attestry/process"
	"attestry/tasks"
	"attestry/tasks/relay"
	"attestry/tasks/reports"
)

// metrics counts tasks by queue and name, and shows how full the queues are.
type metrics struct {
	duration *prometheus.HistogramVec
	size     *prometheus.Desc
	most     *prometheus.Desc
	latency  *prometheus.Desc
	tasks    *tasks.Enqueuer
	// concurrency is how many tasks of each queue this process runs at once.
	concurrency map[string]int
}

func newMetrics(p *process.Process) *metrics {
	m := &metrics{
		duration: promauto.With(p.Metrics).NewHistogramVec(prometheus.HistogramOpts{
			Name:    "attestry_task_duration_seconds",
			Help:    "How long tasks took, by queue, task and outcome.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
		}, []string{"queue", "task", "outcome"}),
		size: prometheus.NewDesc("attestry_queue_tasks",
			"How many tasks a queue holds, by state.", []string{"queue", "state"}, nil),
		most: prometheus.NewDesc("attestry_queue_tasks_max",
			"How many tasks a queue can hold: active ones in this process, and pending ones in all, beyond which work waits in the database.", []string{"queue", "state"}, nil),
		latency: prometheus.NewDesc("attestry_queue_latency_seconds",
			"How long the oldest pending task of a queue has waited.", []string{"queue"}, nil),
		tasks:       p.Tasks,
		concurrency: concurrencyOf(&p.Settings.Worker),
	}
	p.Metrics.MustRegister(m)
	return m
}

// newParkedCounter counts the reports that this process has parked, by the class of the reason.
func newParkedCounter(p *process.Process) (count func(reason string)) {
	counter := promauto.With(p.Metrics).NewCounterVec(prometheus.CounterOpts{
		Name: "attestry_reports_given_up_total",
		Help: "How many reports could not be processed, however often that was tried, and were parked, by kind of reason.",
	}, []string{"reason"})
	for _, reason := range reports.ParkedReasons {
		counter.WithLabelValues(reason) // exists from the start, so that a rate shows the first increase
	}
	return func(reason string) { counter.WithLabelValues(reason).Inc() }
}

// Describe names the queue metrics.
func (m *metrics) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- m.size
	descriptions <- m.most
	descriptions <- m.latency
}

// Collect reads the state of the served queues from Redis, if that is reachable, and adds the tasks in this process.
func (m *metrics) Collect(values chan<- prometheus.Metric) {
	// A Redis that drops packets would otherwise delay the scrape until it fails, with the metrics of the database.
	ctx, cancel := context.WithTimeout(context.Background(), jobsTimeout)
	defer cancel()
	var failed error
	for queue, most := range m.concurrency {
		values <- prometheus.MustNewConstMetric(m.most, prometheus.GaugeValue, float64(most), queue, "active")
		values <- prometheus.MustNewConstMetric(m.most, prometheus.GaugeValue, relay.MaxWaiting, queue, "pending")
		states := map[string]int{}
		if waiting, running, ok := m.tasks.Here(queue); ok {
			states["pending"], states["active"] = waiting, running
		}
		if failed == nil {
			// After one failure each other queue would delay the scrape as long again.
			failed = m.collectQueue(ctx, queue, states, values)
		}
		for state, n := range states {
			values <- prometheus.MustNewConstMetric(m.size, prometheus.GaugeValue, float64(n), queue, state)
		}
	}
}

// collectQueue adds the tasks of a queue that Redis has to those by state.
func (m *metrics) collectQueue(ctx context.Context, queue string, states map[string]int, values chan<- prometheus.Metric) error {
	info, err := m.tasks.InRedis(ctx, queue)
	if err != nil {
		return err
	}
	for state, n := range map[string]int{
		"pending": info.Pending, "active": info.Active, "scheduled": info.Scheduled,
		"retry": info.Retry, "archived": info.Archived,
	} {
		states[state] += n
	}
	values <- prometheus.MustNewConstMetric(m.latency, prometheus.GaugeValue, info.Latency.Seconds(), queue)
	return nil
}

// jobsTimeout bounds how long a scrape waits for the database and for Redis, and how long keepLast takes.
const jobsTimeout = 5 * time.Second

// jobCollector counts durable work by kind and state at each scrape, with four commands for each kind.
type jobCollector struct {
	jobs   *prometheus.Desc
	counts map[*job.Kind]func(context.Context) (map[job.Stage]int64, error)
	log    *slog.Logger
}

func registerJobCollector(p *process.Process) {
	p.Metrics.MustRegister(&jobCollector{
		log: p.Log,
		jobs: prometheus.NewDesc("attestry_jobs",
			"How much durable work there is, by kind and state: waiting, leased, failed (and tried again) or parked.", []string{"kind", "state"}, nil),
		counts: map[*job.Kind]func(context.Context) (map[job.Stage]int64, error){
			&job.Report:   reports.NewParked(p.Store, p.Clock).CountJobs,
			&job.Fanout:   p.Store.Outbox.CountJobs,
			&job.Send:     p.Store.Deliveries.CountJobs,
			&job.Assemble: p.Store.Assemblies.CountJobs,
		},
	})
}

// Describe names the metric.
func (c *jobCollector) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- c.jobs }

// Collect counts. After an error the remaining kinds have no values.
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
