package main

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"attestry/evidence/evidencetest"
	"attestry/scripts/clienttest"
)

// TestLoadIsMeasured runs all users against a fake service that refuses every tenth artifact and has a metric of its memory.
func TestLoadIsMeasured(t *testing.T) {
	var artifacts, refused, environments atomic.Int64
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/metrics":
			fmt.Fprint(w, "go_threads 7\nprocess_resident_memory_bytes 5.24288e+07\n")
		case r.URL.Path == "/api/v2/environments/acme":
			environments.Add(1)
			w.WriteHeader(http.StatusCreated)
		case strings.HasPrefix(r.URL.Path, "/api/v2/artifacts/acme/") && artifacts.Add(1)%10 == 0:
			refused.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer service.Close()
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "file"), make([]byte, 3*mebi), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &load{
		scope: "load", client: clienttest.New("acme", "key", service.URL), metrics: service.URL + "/metrics", data: data,
		duration: 3 * time.Second, interval: time.Second, environments: 30, pipelines: 20, auditors: 5,
	}
	if err := l.prepare(t.Context()); err != nil || environments.Load() != 30 {
		t.Fatalf("%d environments, %v", environments.Load(), err)
	}
	l.work(t.Context())
	all := l.summarize(func(*measured) bool { return true })
	if all.requests < 100 || all.errors == 0 || int64(all.errors) != refused.Load() || all.p50 <= 0 || all.p99 < all.p50 {
		t.Errorf("%+v after %d refusals", all, refused.Load())
	}
	last := l.course()[periods-1]
	if last.memory != 50*mebi || last.disk != 3*mebi {
		t.Errorf("measured %g bytes of memory and %g of disk space", last.memory, last.disk)
	}
	var out strings.Builder
	l.print(&out)
	evidencetest.Contains(t, out.String(),
		"| artifact |", "| report, changed |", "| snapshot |", "| all |",
		fmt.Sprintf("%d times artifact: status 503", refused.Load()))
	var picture struct {
		Lines []struct{} `xml:"polyline"`
	}
	if err := xml.Unmarshal(l.draw(), &picture); err != nil || len(picture.Lines) != 5 {
		t.Errorf("%d lines are drawn, %v", len(picture.Lines), err)
	}
}

func TestLoadNeedsAnEnvironmentAndAPipeline(t *testing.T) {
	for _, l := range []*load{{environments: 1}, {pipelines: 1}} {
		if err := l.run(t.Context(), "", ""); err == nil || err.Error() != "--environments and --pipelines must be at least 1" {
			t.Error(err)
		}
	}
}
