package tasks_test

import (
	"context"
	"log/slog"
	"testing"

	"attestry/tasks"
)

// listen lets waiters be woken until the test ends.
func listen(t *testing.T, waiters *tasks.Waiters) {
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
	eventually(t, "the subscription stands", func() bool {
		_, leave, ok := waiters.Register("probe")
		leave()
		return ok
	})
}

func TestWaitersAreWokenForTheirEnvironmentOnly(t *testing.T) {
	_, client := startRedis(t)
	waiters := tasks.NewWaiters(client, slog.New(slog.DiscardHandler))
	if _, _, ok := waiters.Register("early"); ok {
		t.Error("a waiter was taken before anything could wake it")
	}
	listen(t, waiters)
	mine, leaveMine, _ := waiters.Register("mine")
	other, leaveOther, _ := waiters.Register("other")
	defer leaveMine()
	defer leaveOther()
	tasks.NewPublisher(client).PublishChange(t.Context(), "mine")
	<-mine
	select {
	case <-other:
		t.Error("woken for another environment")
	default:
	}
	waiters.End()
	if _, more := <-mine; more {
		t.Error("who waits is woken instead of ended")
	}
	if _, leave, ok := waiters.Register("late"); ok {
		leave()
		t.Error("a waiter was taken after the end")
	}
}

func TestWaitersAreRefusedWithoutSubscription(t *testing.T) {
	server, client := startRedis(t)
	waiters := tasks.NewWaiters(client, slog.New(slog.DiscardHandler))
	listen(t, waiters)
	server.Close()
	eventually(t, "waiters are refused while the subscription is lost", func() bool {
		_, leave, ok := waiters.Register("late")
		leave()
		return !ok
	})
}
