package server

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"attestry/app"
	"attestry/process"
)

func TestPanickingPeriodicJobIsRepeated(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, times := &Server{process: &process.Process{Log: slog.New(slog.DiscardHandler)}}, 0
	s.repeat(ctx, time.Millisecond, nil, "test", func(context.Context) error {
		if times++; times == 3 {
			cancel()
		}
		panic("a job")
	})
	if times != 3 {
		t.Errorf("the job ran %d times", times)
	}
}

// cancelingLog calls cancel with each line.
type cancelingLog struct {
	strings.Builder
	cancel func()
}

func (w *cancelingLog) Write(line []byte) (int, error) {
	w.cancel()
	return w.Builder.Write(line)
}

// TestPanickingSearchForFactsIsRepeated has a store without logs, with which the search panics.
func TestPanickingSearchForFactsIsRepeated(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	log := &cancelingLog{cancel: cancel}
	l := &logging{process: &process.Process{Store: &app.Store{}, Log: slog.New(slog.NewTextHandler(log, nil))}}
	l.addExisting(ctx)
	if l.complete.Load() || !strings.Contains(log.String(), "will try again") {
		t.Errorf("complete: %v, %s", l.complete.Load(), log)
	}
}

func TestPeriodicJobRunsWhenItIsWoken(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wake := make(chan struct{}, 1)
	s, times := &Server{process: &process.Process{Log: slog.New(slog.DiscardHandler)}}, 0
	wake <- struct{}{}
	s.repeat(ctx, time.Hour, wake, "test", func(context.Context) error {
		if times++; times == 2 {
			cancel()
		}
		wake <- struct{}{}
		return nil
	})
	if times != 2 {
		t.Errorf("the job ran %d times", times)
	}
}
