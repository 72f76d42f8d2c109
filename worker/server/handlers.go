package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/hibiken/asynq"

	"attestry/evidence/job"
	"attestry/goroutine"
	"attestry/tasks"
	"attestry/trace"
)

func (s *Server) newMux(m *metrics) *asynq.ServeMux {
	drain := func(ctx context.Context, of *job.Payload) error { return s.processor.Drain(ctx, of.Environment) }
	mux := asynq.NewServeMux()
	for kind, do := range map[*job.Kind]func(context.Context, *job.Payload) error{
		&job.Report:   drain,
		&job.Evaluate: drain,
		&job.Fanout: func(ctx context.Context, of *job.Payload) error {
			return s.notifier.fanout.MakeDeliveries(ctx, of.Event, of.Action)
		},
		&job.Send: func(ctx context.Context, of *job.Payload) error {
			return s.notifier.deliverer.Deliver(ctx, of.Org, of.Delivery)
		},
		&job.Assemble: func(ctx context.Context, of *job.Payload) error {
			return s.packager.assembler.Assemble(ctx, of.Assembly)
		},
		&job.Sequence: func(ctx context.Context, of *job.Payload) error {
			if s.logging == nil {
				return nil // another worker, which has a key, enqueues it again
			}
			return s.logging.sequencer.Sequence(ctx, of.Org)
		},
		&job.Cosign: func(ctx context.Context, of *job.Payload) error {
			if s.cosigning == nil {
				return nil // another worker, which has witnesses, enqueues it again
			}
			return s.cosigning.asker.Ask(ctx, of.Org)
		},
	} {
		mux.Handle(kind.Name, newHandler(kind, m, s.process.Log, do))
	}
	return mux
}

// newHandler makes the handler of a kind of tasks. A panic becomes an error. It measures every task and logs each
// failed one, and the others at level debug. If asynq retries no more, a relay or the sweep enqueues the work.
func newHandler(kind *job.Kind, m *metrics, log *slog.Logger, do func(context.Context, *job.Payload) error) asynq.Handler {
	return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		began := time.Now()
		var span trace.Span = trace.None{}
		err := goroutine.Recovered(func() error {
			var of job.Payload
			if err := json.Unmarshal(task.Payload(), &of); err != nil {
				return fmt.Errorf("decode the payload of %s: %w: %w", kind.Name, err, asynq.SkipRetry)
			}
			ctx, span = trace.Start(trace.With(ctx, of.Trace), trace.Consumer, kind.Name)
			return do(ctx, &of)
		})
		span.End(err != nil, slog.String("messaging.destination.name", kind.Queue), slog.String("messaging.message.id", tasks.CurrentID(ctx)))
		outcome := map[bool]string{true: "done", false: "failed"}[err == nil]
		m.duration.WithLabelValues(kind.Queue, kind.Name, outcome).Observe(time.Since(began).Seconds())
		entry := log.With("task", kind.Name, "id", tasks.CurrentID(ctx), "duration_ms", time.Since(began).Milliseconds())
		if err == nil {
			entry.DebugContext(ctx, "task done")
			return nil
		}
		entry.ErrorContext(ctx, "task failed", "error", err.Error())
		if kind.Retries == 0 {
			return fmt.Errorf("%w: %w", err, asynq.RevokeTask)
		}
		return err
	})
}

// logger passes the logs of asynq to slog.
type logger struct {
	log *slog.Logger
}

func (l *logger) Debug(args ...any) { l.log.Debug(fmt.Sprint(args...)) }
func (l *logger) Info(args ...any)  { l.log.Info(fmt.Sprint(args...)) }
func (l *logger) Warn(args ...any)  { l.log.Warn(fmt.Sprint(args...)) }
func (l *logger) Error(args ...any) { l.log.Error(fmt.Sprint(args...)) }

// Fatal is logged as an error: main decides whether the process ends.
func (l *logger) Fatal(args ...any) { l.log.Error(fmt.Sprint(args...)) }
