package tasks_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"attestry/tasks"
)

// listen runs waiters until the test ends, and waits until they are subscribed.
func listen(t *testing.T, waiters *tasks.Waiters) {
	t.Helper()
	runWaiters(t, waiters)
	eventually(t, "waiters are subscribed", func() bool {
		_, leave, ok := waiters.Register("probe")
		leave()
		return ok
	})
}

func TestWaitersAreWokenForTheirEnvironmentOnly(t *testing.T) {
	_, client := startRedis(t)
	waiters := tasks.NewWaiters(client, slog.New(slog.DiscardHandler))
	if _, _, ok := waiters.Register("early"); ok {
		t.Error("a waiter was registered before the subscription")
	}
	listen(t, waiters)
	mine, leaveMine, _ := waiters.Register("mine")
	other, leaveOther, _ := waiters.Register("other")
	defer leaveMine()
	defer leaveOther()
	tasks.NewEnqueuer(client).PublishChange(t.Context(), "mine")
	<-mine
	select {
	case <-other:
		t.Error("woken for another environment")
	default:
	}
	waiters.End()
	if _, more := <-mine; more {
		t.Error("the channel of a waiter is not closed by End")
	}
	if _, leave, ok := waiters.Register("late"); ok {
		leave()
		t.Error("a waiter was registered after End")
	}
}

func TestWaitersAreRefusedWithoutSubscription(t *testing.T) {
	for name, first := range map[string]bool{"lost": false, "at the start": true} {
		t.Run(name, func(t *testing.T) {
			server, client := startRedis(t)
			var logged bytes.Buffer
			waiters := tasks.NewWaiters(client, slog.New(slog.NewTextHandler(&logged, nil)))
			if first {
				server.Close()
				runWaiters(t, waiters)
				<-waiters.Tried()
			} else {
				listen(t, waiters)
				server.Close()
			}
			eventually(t, "waiters are refused without a subscription", func() bool {
				_, leave, ok := waiters.Register("late")
				leave()
				return !ok
			})
			if strings.Count(logged.String(), "no subscription") != 1 {
				t.Errorf("logged %s", logged.String())
			}
		})
	}
}
