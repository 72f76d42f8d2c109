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
)

// proxy passes on what goes to and from a server, until it loses everything without closing a connection.
type proxy struct {
	listener net.Listener
	gone     atomic.Bool
	// passed is how often something was passed on.
	passed atomic.Int64
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	p := &proxy{listener: listener}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { client.Close() })
			behind, err := net.Dial("tcp", server)
			if err != nil {
				return
			}
			t.Cleanup(func() { behind.Close() })
			go p.pass(behind, client)
			go p.pass(client, behind)
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
		if !p.gone.Load() {
			_, _ = to.Write(buffer[:n])
			p.passed.Add(1)
		}
	}
}

// TestWaitersAreRefusedAfterRedisFellSilent first leaves Redis alone for longer than it may be silent.
func TestWaitersAreRefusedAfterRedisFellSilent(t *testing.T) {
	p := newProxy(t, miniredis.RunT(t).Addr())
	client, err := NewRedis("redis://"+p.listener.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
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
	taken := func() bool {
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
	until("Redis has answered twice whether it is there", func() bool { return p.passed.Load() >= before+4 })
	if !taken() {
		t.Error("a waiter was refused although Redis answers")
	}
	p.gone.Store(true)
	until("waiters are refused", func() bool { return !taken() })
}
