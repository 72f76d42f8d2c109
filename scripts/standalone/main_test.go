package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"attestry/evidence/evidencetest"
)

// output is the output of a program, which a test may read while the program runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// trial is a run of the program.
type trial struct {
	command
	out, errs *output
}

func newTrial(environ ...string) *trial {
	tr := &trial{out: &output{}, errs: &output{}}
	tr.command = command{environ: environ, out: tr.out, errs: tr.errs}
	return tr
}

// freeAddress returns an address on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	evidencetest.Must(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// serve starts the program, waits until it serves, and stops it at the end of the test.
func (tr *trial) serve(t *testing.T, args ...string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() { ended <- tr.main(ctx, args) }()
	t.Cleanup(func() {
		stop()
		http.DefaultClient.CloseIdleConnections()
		if status := <-ended; status != 0 {
			t.Errorf("exit status %d: %s", status, tr.errs)
		}
	})
	deadline := time.Now().Add(time.Minute)
	for !strings.Contains(tr.out.String(), "Serving.") {
		if len(ended) > 0 || time.Now().After(deadline) {
			t.Fatalf("the program does not serve: %s%s", tr.out, tr.errs)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func get(t *testing.T, url string) int {
	t.Helper()
	response, err := http.Get(url)
	evidencetest.Must(t, err)
	response.Body.Close()
	return response.StatusCode
}

func TestStandaloneReportsAllInvalidSettingsAtOnce(t *testing.T) {
	tr := newTrial("ATTESTRY_CONCURRENCY=many", "ATTESTRY_REDIS_URL=http://:open-sesame@localhost", "ATTESTRY_DATABSE_URL=x")
	if status := tr.main(t.Context(), []string{"--ephemeral", "--listen", "nowhere", "--base-url", "example.com/path", "--bootstrap", "/absent/file"}); status != 1 {
		t.Errorf("exit status %d", status)
	}
	for _, fault := range []string{"--listen: ", "--base-url: ", "--bootstrap: ", "ATTESTRY_CONCURRENCY: ", "ATTESTRY_REDIS_URL: ", "ATTESTRY_DATABSE_URL: "} {
		if strings.Count(tr.errs.String(), "\n"+fault) != 1 {
			t.Errorf("no %s in %s", fault, tr.errs)
		}
	}
	if strings.Contains(tr.errs.String(), "sesame") || tr.out.String() != "" {
		t.Errorf("printed %s and %s", tr.out, tr.errs)
	}
}

func TestStandaloneRefusesInvalidCommandLines(t *testing.T) {
	for name, args := range map[string][]string{
		"unknown flag":                      {"--frobnicate"},
		"unknown argument":                  {"frobnicate"},
		"flags that exclude each other":     {"--ephemeral", "--data", "x"},
		"healthcheck, as of api and worker": {"healthcheck"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrial()
			if status := tr.main(t.Context(), args); status != 2 || strings.Count(tr.errs.String(), "\n") != 2 || tr.out.String() != "" {
				t.Errorf("exit status %d: %s", status, tr.errs)
			}
		})
	}
}

func TestStandalonePrintsHelpAndVersion(t *testing.T) {
	for argument, want := range map[string]string{"--help": "--monitor HOST:PORT", "--version": "standalone "} {
		tr := newTrial("ATTESTRY_NO_SETTING=1")
		if status := tr.main(t.Context(), []string{argument}); status != 0 || !strings.Contains(tr.out.String(), want) {
			t.Errorf("%s: exit status %d: %s%s", argument, status, tr.out, tr.errs)
		}
	}
}

func TestStandaloneTakesSettingsFromFlagsAndEnvironment(t *testing.T) {
	address, monitor := freeAddress(t), freeAddress(t)
	data := t.TempDir() + "/with a blank, a % and a ?"
	tr := newTrial("ATTESTRY_LISTEN=127.0.0.1:1", "ATTESTRY_LOG_LEVEL=info", "ATTESTRY_BASE_URL=https://evidence.example.com")
	tr.serve(t, "--listen", address, "--monitor", monitor, "--data", data)
	if got := get(t, "http://"+address+"/ready"); got != 200 {
		t.Errorf("/ready answers %d", got)
	}
	if got := get(t, "http://"+monitor+"/metrics"); got != 200 {
		t.Errorf("/metrics answers %d", got)
	}
	evidencetest.Contains(t, tr.out.String(),
		"http://"+address+",", data, "https://evidence.example.com", "http://"+monitor+"/metrics")
	if _, err := os.Stat(data + "/documents"); err != nil {
		t.Error(err)
	}
	var requests int
	for line := range strings.Lines(tr.errs.String()) {
		var entry struct{ Msg, Route, Process string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Process != "standalone" {
			t.Errorf("%v: %s", err, line)
		}
		if entry.Msg == "request" && entry.Route == "/ready" {
			requests++
		}
	}
	if requests != 1 {
		t.Errorf("%d lines of requests in %s", requests, tr.errs)
	}
}

func TestStandaloneLogsNoRequestsByDefault(t *testing.T) {
	address := freeAddress(t)
	tr := newTrial()
	tr.serve(t, "--ephemeral", "--listen", address)
	get(t, "http://"+address+"/ready")
	if !strings.Contains(tr.out.String(), "--log-level info") || tr.errs.String() != "" {
		t.Errorf("printed %s and %s", tr.out, tr.errs)
	}
}
