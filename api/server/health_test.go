package server

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"attestry/api/memory"
	"attestry/monitor"
	"attestry/storage"
)

// fakeStore answers pings, or fails if it is down, and counts them.
type fakeStore struct {
	down  atomic.Bool
	pings atomic.Int32
}

func (f *fakeStore) Ping(context.Context) error {
	f.pings.Add(1)
	if f.down.Load() {
		return errors.New("connect to 10.0.0.1: refused")
	}
	return nil
}

func TestReadyAnswersOKWithAnyKeyOrNone(t *testing.T) {
	s := start(t, nil)
	for _, key := range []string{"", "admin", "stranger"} {
		if got := s.send(t, "GET", "/ready", key, ""); got.status != 200 || got.body != "OK" {
			t.Errorf("key %q: %d %q", key, got.status, got.body)
		}
	}
}

func TestReadyNamesTheStoreThatDoesNotAnswer(t *testing.T) {
	documents, queue := &fakeStore{}, &fakeStore{}
	s := start(t, nil, func(d *Deps) {
		d.Checks = []monitor.Check{{Name: "documents", Ping: documents.Ping, Required: true}, {Name: "queue", Ping: queue.Ping}}
	})
	queue.down.Store(true)
	if got := s.send(t, "GET", "/ready", "", ""); got.status != 200 {
		t.Errorf("without the queue: %d %s", got.status, got.body)
	}
	documents.down.Store(true)
	got := s.send(t, "GET", "/ready", "", "")
	got.expect(t, 503, "Not ready: documents does not answer.")
	if got.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After = %q", got.header.Get("Retry-After"))
	}
}

func TestReadyNamesTheStoreThatRefusesWritesAndTheReason(t *testing.T) {
	s := start(t, nil, func(d *Deps) {
		refused := storage.RefuseWrite(storage.Database, storage.DiskFull, errors.New("/secret/place: no space"))
		d.Checks = []monitor.Check{{Name: storage.Database, Ping: func(context.Context) error { return refused }, Required: true}}
	})
	got := s.send(t, "GET", "/ready", "", "")
	got.expect(t, 503, "Not ready: The database cannot be written to: the disk is full.")
}

func TestResultsOfChecksAreCachedForTheirTime(t *testing.T) {
	store, now := &fakeStore{}, time.Unix(1000, 0)
	ready := monitor.NewReadiness([]monitor.Check{{Name: "objects", Ping: store.Ping, Required: true, KeepFor: 5 * time.Second}}, func() time.Time { return now })
	for _, step := range []struct {
		after time.Duration
		pings int32
	}{{0, 1}, {4 * time.Second, 1}, {time.Second, 2}, {time.Second, 2}} {
		now = now.Add(step.after)
		ready.States(t.Context())
		if got := store.pings.Load(); got != step.pings {
			t.Errorf("at %v the store was asked %d times, want %d", now, got, step.pings)
		}
	}
}

func TestTheMonitorReportsEveryDependencyWithItsError(t *testing.T) {
	documents, queue := &fakeStore{}, &fakeStore{}
	queue.down.Store(true)
	registry := prometheus.NewRegistry()
	newMetrics(registry, memory.NewBudget(1))
	served := monitor.New(registry, []monitor.Check{{Name: "documents", Ping: documents.Ping, Required: true}, {Name: "queue", Ping: queue.Ping}}, time.Now)
	get := func(path string) (int, string) {
		recorder := httptest.NewRecorder()
		served.ServeHTTP(recorder, httptest.NewRequest("GET", path, http.NoBody))
		return recorder.Code, recorder.Body.String()
	}
	if status, body := get("/healthz"); status != 200 || !strings.Contains(body, "true") {
		t.Errorf("/healthz: %d %s", status, body)
	}
	if status, body := get("/readyz"); status != 200 || !strings.Contains(body, "refused") || !strings.Contains(body, `"name":"documents","ready":true`) {
		t.Errorf("/readyz: %d %s", status, body)
	}
	documents.down.Store(true)
	if status, body := get("/readyz"); status != 503 || !strings.Contains(body, `"ready":false`) {
		t.Errorf("/readyz: %d %s", status, body)
	}
	if status, body := get("/metrics"); status != 200 || !strings.Contains(body, "attestry_http_requests_in_flight 0") {
		t.Errorf("/metrics: %d %s", status, body)
	}
}
