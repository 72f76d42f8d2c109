package tasks_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"attestry/evidence/evidencetest"
	"attestry/evidence/job"
	"attestry/tasks"
)

// hangingRedis accepts connections, counts them and never answers.
func hangingRedis(t *testing.T) (address string, connections *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	evidencetest.Must(t, err)
	t.Cleanup(func() { listener.Close() })
	connections = &atomic.Int64{}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			t.Cleanup(func() { connection.Close() })
		}
	}()
	return listener.Addr().String(), connections
}

func TestRedisCommandEndsWithItsContext(t *testing.T) {
	address, _ := hangingRedis(t)
	client, err := tasks.NewRedisWithin("redis://"+address, time.Minute, nil)
	evidencetest.Must(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := client.Ping(ctx).Err(); err == nil || time.Since(began) > 30*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

func TestDispatcherStopsTryingWhileRedisHangs(t *testing.T) {
	address, connections := hangingRedis(t)
	client, err := tasks.NewRedis("redis://"+address, nil)
	evidencetest.Must(t, err)
	defer client.Close()
	client.Options().ReadTimeout = 50 * time.Millisecond
	dispatcher := tasks.NewDispatcher(tasks.NewEnqueuer(client), slog.New(slog.DiscardHandler))
	const environments = 400
	for i := range environments {
		dispatcher.Dispatch(t.Context(), &job.Report, fmt.Sprint("environment ", i), 1)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		dispatcher.Run(ctx)
	}()
	eventually(t, "Redis is reported as unreachable", dispatcher.Unreachable)
	if tried := connections.Load(); tried > environments/4 {
		t.Errorf("%d connections until Redis was reported as unreachable", tried)
	}
	stop()
	<-done
}
