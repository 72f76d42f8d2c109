package instance_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/identity"
	"attestry/process"
	"attestry/scripts/fixturestest"
	"attestry/scripts/standalone/instance"
	"attestry/storage"
)

const reportsUnderWay = 4

// put sends JSON with a key, and returns the status and body of the answer.
func put(ctx context.Context, address, key string, body []byte) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, address, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return fmt.Sprintf("%d %s", response.StatusCode, strings.TrimSpace(string(content))), err
}

// stoppable is an instance with an environment, which waits 10 s for the verdicts of reports.
type stoppable struct {
	*instance.Instance
	environment string // id
	reports     string // URL
	key         string
}

func startStoppable(t *testing.T, withoutWorker bool, wrap func(storage.Documents) storage.Documents, environ ...string) *stoppable {
	t.Helper()
	var made []identity.MadeKey
	running, err := instance.Start(t.Context(), instance.Options{
		Listen: "127.0.0.1:0", Data: t.TempDir(), Clock: time.Now, Log: slog.New(slog.DiscardHandler), ReportWait: 10 * time.Second,
		WithoutWorker: withoutWorker, Wrap: wrap, Environ: environ,
		Prepare: func(ctx context.Context, p *process.Process) (err error) {
			made, err = p.Store.Tenancy.ApplyBootstrap(ctx, identity.Bootstrap{
				Users:         []identity.DeclaredUser{{Name: "ann", Keys: []identity.DeclaredKey{{Description: "test"}}}},
				Organizations: []identity.DeclaredOrganization{{Name: "acme", Members: map[string]evidence.Role{"ann": evidence.Admin}}},
			})
			return err
		},
	})
	evidencetest.Must(t, err)
	key, base := made[0].Secret.Reveal(), running.URL+"/api/v2/environments/acme"
	if answer, err := put(t.Context(), base, key, []byte(`{"name":"prod","type":"K8S","description":""}`)); err != nil || !strings.HasPrefix(answer, "201") {
		t.Fatal(answer, err)
	}
	org, err := running.Process.Store.Tenancy.Organization(t.Context(), "acme")
	evidencetest.Must(t, err)
	environment, err := running.Process.Store.Environments.Resolve(t.Context(), org.ID, "prod")
	evidencetest.Must(t, err)
	return &stoppable{running, environment.ID, base + "/prod/report/K8S", key}
}

// report sends a report, and its answer to the channel.
func (s *stoppable) report(t *testing.T, answers chan<- string) {
	answer, err := put(t.Context(), s.reports, s.key, fixturestest.Read("k8s-report-1.json"))
	answers <- fmt.Sprint(answer, err)
}

// TestStopAnswersWaitingReports stops a service without a worker.
func TestStopAnswersWaitingReports(t *testing.T) {
	s := startStoppable(t, true, nil)
	answers := make(chan string, reportsUnderWay)
	for range reportsUnderWay {
		go s.report(t, answers)
	}
	for stored := false; !stored; {
		var err error
		if stored, err = s.Process.Store.Reports.Exists(t.Context(), s.environment, reportsUnderWay); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	evidencetest.Check(t, s.Close())
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the stop took %v", took)
	}
	for range reportsUnderWay {
		if answer := <-answers; answer != `200 "report accepted, it will be processed"<nil>` {
			t.Errorf("a report got the answer %s", answer)
		}
	}
}

// held is a database that stores no report until release is closed.
type held struct {
	storage.Documents
	once    sync.Once
	reached chan struct{} // closed when a report is to be stored
	release chan struct{}
}

func (h *held) Write(ctx context.Context, writes ...storage.Write) error {
	if writes[0].Schema.Name == "reports" && writes[0].Kind == storage.WriteInsert {
		h.once.Do(func() { close(h.reached) })
		<-h.release
	}
	return h.Documents.Write(ctx, writes...)
}

// TestStopProcessesReportsUnderWay stops a service while its API stores a report. The report is stored and queued only after
// the API has stopped accepting connections.
func TestStopProcessesReportsUnderWay(t *testing.T) {
	h := &held{reached: make(chan struct{}), release: make(chan struct{})}
	s := startStoppable(t, false, func(docs storage.Documents) storage.Documents {
		h.Documents = docs
		return h
	})
	answers := make(chan string, 1)
	go s.report(t, answers)
	<-h.reached
	go func() {
		defer close(h.release)
		for {
			connection, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
			if err != nil {
				return
			}
			connection.Close()
		}
	}()
	evidencetest.Check(t, s.Close())
	if answer := <-answers; !strings.HasPrefix(answer, "201 ") {
		t.Errorf("the report got the answer %s", answer)
	}
}

// TestStoppingServiceIsNotReadyWhileItAnswersRequests stops a service as a load balancer sees it, which polls /ready.
func TestStoppingServiceIsNotReadyWhileItAnswersRequests(t *testing.T) {
	t.Parallel()
	s := startStoppable(t, true, nil, "ATTESTRY_DRAIN_DELAY=5s")
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	for status := http.StatusOK; status != http.StatusServiceUnavailable; {
		response, err := http.Get(s.URL + "/ready")
		if err != nil {
			t.Fatalf("the service stopped before /ready failed: %v", err)
		}
		response.Body.Close()
		status = response.StatusCode
	}
	base := strings.TrimSuffix(s.reports, "/prod/report/K8S")
	if answer, err := put(t.Context(), base, s.key, []byte(`{"name":"test","type":"K8S","description":""}`)); err != nil || !strings.HasPrefix(answer, "201") {
		t.Error(answer, err)
	}
	evidencetest.Check(t, <-closed)
}
