package tasks

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"attestry/evidence/evidencetest"
)

// proxy forwards data to and from a server. Once silent, it drops the data and keeps the connections open.
type proxy struct {
	listener net.Listener
	silent   atomic.Bool
	passed   atomic.Int64 // forwarded reads
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	evidencetest.Must(t, err)
	t.Cleanup(func() { listener.Close() })
	p := &proxy{listener: listener}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { client.Close() })
			backend, err := net.Dial("tcp", server)
			if err != nil {
				return
			}
			t.Cleanup(func() { backend.Close() })
			go p.pass(backend, client)
			go p.pass(client, backend)
		}
	}()
	return p
}

func (p *proxy) pass(to io.Writer, from io.Reader) {
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if !p.silent.Load() {
			_, _ = to.Write(buffer[:n])
			p.passed.Add(1)
		}
	}
}

// TestWaitersAreRefusedAfterRedisStopsAnswering first checks that an idle Redis that answers pings is not refused.
func TestWaitersAreRefusedAfterRedisStopsAnswering(t *testing.T) {
	p := newProxy(t, miniredis.RunT(t).Addr())
	client, err := NewRedis("redis://"+p.listener.Addr().String(), nil)
	evidencetest.Must(t, err)
	defer client.Close()
	waiters := NewWaiters(client, slog.New(slog.DiscardHandler))
	waiters.ping = 300 * time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		waiters.Run(ctx)
	}()
	defer func() {
		stop()
		<-done
	}()
	accepted := func() bool {
		_, leave, ok := waiters.Register("environment")
		leave()
		return ok
	}
	until := func(what string, holds func() bool) {
		t.Helper()
		for began := time.Now(); !holds(); time.Sleep(time.Millisecond) {
			if time.Since(began) > 20*time.Second {
				t.Fatal("never: " + what)
			}
		}
	}
	<-waiters.Tried()
	before := p.passed.Load()
	until("Redis has answered two pings", func() bool { return p.passed.Load() >= before+4 })
	if !accepted() {
		t.Error("a waiter was refused although Redis answers")
	}
	p.silent.Store(true)
	until("waiters are refused", func() bool { return !accepted() })
}
