package server

import (
	"context"
	"math"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/job"
	"attestry/evidence/translog"
	"attestry/goroutine"
	"attestry/process"
	"attestry/tasks/relay"
	"attestry/tasks/sequencer"
	"attestry/tasks/witness"
)

const (
	// logInterval bounds the time until the task that logs a fact is enqueued.
	logInterval = time.Second
	// logPause is the pause after a pass in a process where every fact wakes the next one, so that facts share tasks.
	logPause = 500 * time.Millisecond
	// existingPause is the pause of the search for facts without leaves after a failure, else existingInterval.
	existingPause    = 10 * time.Second
	existingInterval = time.Hour
	// haltedInterval is how often the worker logs which transparency logs it does not continue.
	haltedInterval = time.Hour
)

type logging struct {
	process   *process.Process
	relay     *relay.Relay
	sequencer *sequencer.Sequencer
	// complete is set once all facts of earlier versions have leaves. No task is enqueued before, so that they come first.
	complete atomic.Bool
	// warned is when it was last logged that logs are not continued.
	warned time.Time
}

// newLogging returns nil without a key: then nothing is logged.
func newLogging(p *process.Process, keys translog.Keys) (*logging, error) {
	if len(keys) == 0 {
		p.Log.Info("nothing is logged: there is no ATTESTRY_LOG_KEY_FILE")
		return nil, nil
	}
	base, err := url.Parse(string(p.Settings.HTTP.BaseURL))
	if err != nil {
		return nil, err
	}
	l := &logging{process: p, sequencer: sequencer.New(p.Store.Logs, keys, p.Store.Tenancy, base.Host, p.Clock)}
	l.relay = relay.New(job.QueueLog, p.Tasks, p.Clock, everyWorker, p.Store.Logs.WithPending, p.Store.Logs.Unsigned)
	promauto.With(p.Metrics).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "attestry_log_lag_seconds", Help: "For how long the oldest fact waits that has no place in a transparency log; 0 if none does.",
	}, l.lag)
	return l, nil
}

// addExisting adds the leaves of facts of earlier versions, then repeatedly leaves that were lost.
func (l *logging) addExisting(ctx context.Context) {
	for ctx.Err() == nil {
		if err := goroutine.Recovered(func() error { return l.addAllExisting(ctx) }); err != nil {
			l.process.Log.Warn("could not look for facts that are to be logged, and will try again", "error", err.Error())
			pause(ctx, existingPause)
			continue
		}
		l.complete.Store(true)
		pause(ctx, existingInterval)
	}
}

func (l *logging) addAllExisting(ctx context.Context) error {
	now := evidence.Seconds(l.process.Clock())
	for _, schema := range app.Schemas() {
		if err := l.process.Store.Logs.AddExisting(ctx, schema, now); err != nil {
			return err
		}
	}
	return nil
}

func (l *logging) enqueue(ctx context.Context) error {
	if !l.complete.Load() {
		return nil
	}
	err := l.relay.Relay(ctx)
	if l.process.Written != nil {
		pause(ctx, logPause)
	}
	return err
}

// keep stores the last checkpoints in the object store, and logs which transparency logs are not continued.
func (l *logging) keep(ctx context.Context) error {
	now, halted := l.process.Clock(), l.process.Store.Logs.Halted()
	if halted != "" && now.Sub(l.warned) >= haltedInterval {
		l.warned = now
		l.process.Log.Error("transparency logs are not continued: restore the database as it was, or see admin log continue", "reason", halted)
	}
	return l.sequencer.Keep(ctx, l.process.Store.Retention)
}

// keepLast is keep when the process ends.
func (l *logging) keepLast(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), jobsTimeout)
	defer cancel()
	if err := l.keep(ctx); err != nil {
		l.process.Log.Warn("could not keep the last checkpoints of transparency logs in the object store", "error", err.Error())
	}
}

// lag is NaN if the database is unreachable.
func (l *logging) lag() float64 {
	ctx, cancel := context.WithTimeout(context.Background(), jobsTimeout)
	defer cancel()
	lag, err := l.process.Store.Logs.Lag(ctx, evidence.Seconds(l.process.Clock()))
	if err != nil {
		return math.NaN()
	}
	return lag
}

type cosigning struct {
	relay *relay.Relay
	asker *witness.Asker
}

// newCosigning returns nil without witnesses.
func newCosigning(p *process.Process) *cosigning {
	witnesses := p.Settings.Log.Witnesses
	if len(witnesses) == 0 {
		return nil
	}
	failures := promauto.With(p.Metrics).NewCounterVec(prometheus.CounterOpts{
		Name: "attestry_log_witness_errors_total",
		Help: "How often witnesses have not cosigned a checkpoint of a transparency log, by reason.",
	}, []string{"witness", "reason"})
	count := func(name, reason string) { failures.WithLabelValues(name, reason).Inc() }
	return &cosigning{
		relay: relay.New(job.QueueNotifications, p.Tasks, p.Clock, everyWorker, p.Store.Logs.Uncosigned),
		asker: witness.New(p.Store.Logs, witnesses, p.OutboundClient(), p.Clock, p.Log, count),
	}
}
