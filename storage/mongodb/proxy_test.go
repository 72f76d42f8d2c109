package mongodb_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/storagetest"
)

// proxy forwards connections to the server. While cutting is set, it closes them after a command has reached the server
// and before the reply is forwarded.
type proxy struct {
	listener net.Listener
	server   string
	cutting  atomic.Bool
	mu       sync.Mutex
	open     []net.Conn
	copying  sync.WaitGroup
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	evidencetest.Must(t, err)
	p := &proxy{listener: listener, server: server}
	p.copying.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.open = append(p.open, client, server)
		p.mu.Unlock()
		p.copying.Go(func() {
			_, _ = io.Copy(server, client)
			_ = server.Close()
		})
		p.copying.Go(func() { p.answer(client, server) })
	}
}

func (p *proxy) answer(client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil || p.cutting.Load() {
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	for _, conn := range p.open {
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.copying.Wait()
}

// through returns the URI of the server with the address of the proxy.
func through(t *testing.T, p *proxy, uri string) string {
	t.Helper()
	u, err := url.Parse(uri)
	evidencetest.Must(t, err)
	query := u.Query()
	query.Set("directConnection", "true")
	u.Host, u.RawQuery = p.listener.Addr().String(), query.Encode()
	return u.String()
}

func TestConnectionCutDuringACommandIsAnErrorAndRecovers(t *testing.T) {
	uri := server(t)
	u, err := url.Parse(uri)
	evidencetest.Must(t, err)
	host, _, _ := strings.Cut(u.Host, ",")
	p := newProxy(t, host)
	schema := &storage.Schema{Name: "things"}
	db := open(t, through(t, p, uri), newDatabase(t), schema)
	defer db.Close()
	kept := storage.Record{ID: "kept", Revision: 1, Body: []byte(`"before"`)}
	evidencetest.Must(t, storagetest.Insert(t.Context(), db, schema, kept))

	p.cutting.Store(true)
	uncertain := storage.Record{ID: "uncertain", Revision: 1, Body: []byte(`"whole"`)}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := storagetest.Insert(ctx, db, schema, uncertain); err == nil || errors.Is(err, storage.ErrExists) {
		t.Fatalf("an insert without an answer returned %v", err)
	}
	if _, err := db.Get(ctx, schema, kept.ID); err == nil || errors.Is(err, storage.ErrNotFound) {
		t.Fatalf("a read without an answer returned %v", err)
	}

	p.cutting.Store(false)
	if got, err := db.Get(t.Context(), schema, kept.ID); err != nil || string(got.Body) != string(kept.Body) {
		t.Fatalf("after the connection came back: %q, %v", got.Body, err)
	}
	got, err := db.Get(t.Context(), schema, uncertain.ID)
	if !errors.Is(err, storage.ErrNotFound) && (err != nil || string(got.Body) != string(uncertain.Body)) {
		t.Fatalf("what was cut off is stored as %q, %v", got.Body, err)
	}
}
