package tasks_test

import (
	"context"
	"log/slog"
	"testing"

	"attestry/tasks"
)

func runWaiters(t *testing.T, waiters *tasks.Waiters) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		waiters.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
}

func TestWaitersAreRegisteredAfterTheFirstSubscription(t *testing.T) {
	_, client := startRedis(t)
	waiters := tasks.NewWaiters(client, slog.New(slog.DiscardHandler))
	select {
	case <-waiters.Tried():
		t.Error("Tried is closed before Run")
	default:
	}
	runWaiters(t, waiters)
	<-waiters.Tried()
	_, leave, ok := waiters.Register("environment")
	leave()
	if !ok {
		t.Error("a waiter was refused although Redis is reachable")
	}
}

func TestTriedIsClosedWithoutRedis(t *testing.T) {
	server, client := startRedis(t)
	server.Close()
	waiters := tasks.NewWaiters(client, slog.New(slog.DiscardHandler))
	runWaiters(t, waiters)
	<-waiters.Tried()
	if _, leave, ok := waiters.Register("environment"); ok {
		leave()
		t.Error("a waiter was registered although Redis is unreachable")
	}
}
