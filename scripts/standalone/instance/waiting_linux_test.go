package instance_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"attestry/scripts/standalone/instance"
)

// smallDisk is a folder on a disk of its own.
func smallDisk(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("no disk can be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// fill leaves a disk with less than a database takes to open, and returns the file that fills it.
func fill(t *testing.T, disk string) string {
	t.Helper()
	name := filepath.Join(disk, "filler")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for block := make([]byte, 1<<20); ; {
		if _, err := file.Write(block); errors.Is(err, syscall.ENOSPC) {
			return name
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// statusOf asks until it is answered.
func statusOf(t *testing.T, address, path string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			body, err := io.ReadAll(response.Body)
			if err := errors.Join(err, response.Body.Close()); err != nil {
				t.Fatal(err)
			}
			response.Body = io.NopCloser(bytes.NewReader(body))
			return response
		}
		if ctx.Err() != nil || !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ECONNRESET) {
			t.Fatal(err)
		}
	}
}

type started struct {
	running *instance.Instance
	err     error
}

func startOn(ctx context.Context, data, address, monitor string) <-chan started {
	result := make(chan started, 1)
	go func() {
		running, err := instance.Start(ctx, instance.Options{
			Listen: address, Data: data, Clock: time.Now, Log: slog.New(slog.DiscardHandler), ReportWait: time.Second,
			Environ: []string{"ATTESTRY_MONITOR_LISTEN=" + monitor},
		})
		result <- started{running, err}
	}()
	return result
}

func TestStartOnAFullDiskAnswersAndWaitsForRoom(t *testing.T) {
	disk := smallDisk(t)
	data := filepath.Join(disk, "data")
	address, monitor := freeAddress(t), freeAddress(t)
	first := <-startOn(t.Context(), data, address, monitor)
	if first.err != nil {
		t.Fatal(first.err)
	}
	if err := first.running.Close(); err != nil {
		t.Fatal(err)
	}
	filler := fill(t, disk)

	ctx, stop := context.WithCancel(t.Context())
	result := startOn(ctx, data, address, monitor)
	for _, one := range []string{address, monitor} {
		if response := statusOf(t, one, "/healthz"); response.StatusCode != http.StatusOK {
			t.Errorf("%s: /healthz answers %s", one, response.Status)
		}
	}
	for at, path := range map[string]string{address: "/api/v2/environments/acme", monitor: "/readyz"} {
		response := statusOf(t, at, path)
		if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" {
			t.Errorf("%s answers %s", path, response.Status)
		}
		// It says why, on both ports.
		if body, err := io.ReadAll(response.Body); err != nil || bytes.Contains(body, []byte("The service is starting.")) {
			t.Errorf("%s answers %s, %v", path, body, err)
		}
	}
	stop()
	if stopped := <-result; !errors.Is(stopped.err, context.Canceled) {
		t.Errorf("told to stop, the start ended with %v", stopped.err)
	}

	result = startOn(t.Context(), data, address, monitor)
	statusOf(t, address, "/healthz")
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	last := <-result
	if last.err != nil {
		t.Fatal(last.err)
	}
	http.DefaultClient.CloseIdleConnections()
	if response := statusOf(t, address, "/ready"); response.StatusCode != http.StatusOK {
		t.Errorf("with room again, /ready answers %s", response.Status)
	}
	http.DefaultClient.CloseIdleConnections()
	if err := last.running.Close(); err != nil {
		t.Error(err)
	}
}
