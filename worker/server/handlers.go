package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/hibiken/asynq"

	"attestry/tasks"
	"attestry/tasks/reports"
)

// environmentHandler processes what waits in the environment that the task names: reports and
// evaluations, in the order in which they came.
func environmentHandler(processor *reports.Processor) asynq.Handler {
	return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		var payload tasks.EnvironmentPayload
		if err := json.Unmarshal(task.Payload(), &payload); err != nil {
			return undecodable(task, err)
		}
		return processor.Drain(ctx, payload.Environment)
	})
}

// undecodable is the error of a task whose payload cannot be read: trying again is of no use.
func undecodable(task *asynq.Task, cause error) error {
	return fmt.Errorf("decode the payload of %s: %w: %w", task.Type(), cause, asynq.SkipRetry)
}

// logged writes one line for each task that failed, and for each at level debug.
func logged(log *slog.Logger) asynq.MiddlewareFunc {
	return func(next asynq.Handler) asynq.Handler {
		return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
			began := time.Now()
			err := next.ProcessTask(ctx, task)
			_, id := tasks.Current(ctx)
			entry := log.With("task", task.Type(), "id", id, "duration_ms", time.Since(began).Milliseconds())
			if err != nil {
				entry.Error("task failed", "error", err.Error())
				return err
			}
			entry.Debug("task done")
			return nil
		})
	}
}

// logger lets asynq speak through slog.
type logger struct {
	log *slog.Logger
}

func (l *logger) Debug(args ...any) { l.log.Debug(fmt.Sprint(args...)) }
func (l *logger) Info(args ...any)  { l.log.Info(fmt.Sprint(args...)) }
func (l *logger) Warn(args ...any)  { l.log.Warn(fmt.Sprint(args...)) }
func (l *logger) Error(args ...any) { l.log.Error(fmt.Sprint(args...)) }

// Fatal is logged as an error: whether the process ends is decided in main.
func (l *logger) Fatal(args ...any) { l.log.Error(fmt.Sprint(args...)) }
