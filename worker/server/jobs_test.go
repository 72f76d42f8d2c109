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

func TestPeriodicJobThatPanicsIsDoneAgain(t *testing.T) {
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
		t.Errorf("it was done %d times", times)
	}
}

// warned ends something at the first line of a log.
type warned struct {
	strings.Builder
	end func()
}

func (w *warned) Write(line []byte) (int, error) {
	w.end()
	return w.Builder.Write(line)
}

// TestSearchForFactsThatPanicsIsRepeated has a store without logs.
func TestSearchForFactsThatPanicsIsRepeated(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	log := &warned{end: cancel}
	l := &logging{process: &process.Process{Store: &app.Store{}, Log: slog.New(slog.NewTextHandler(log, nil))}}
	l.addExisting(ctx)
	if l.complete.Load() || !strings.Contains(log.String(), "will try again") {
		t.Errorf("complete: %v, %s", l.complete.Load(), log)
	}
}

func TestPeriodicJobIsDoneWhenItIsWoken(t *testing.T) {
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
		t.Errorf("it was done %d times", times)
	}
}
