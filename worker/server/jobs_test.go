package server

import (
	"context"
	"log/slog"
	"testing"
	"time"
)

func TestPeriodicJobThatPanicsIsDoneAgain(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, times := &Server{log: slog.New(slog.DiscardHandler)}, 0
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

func TestPeriodicJobIsDoneWhenItIsWoken(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wake := make(chan struct{}, 1)
	s, times := &Server{log: slog.New(slog.DiscardHandler)}, 0
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
