package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"attestry/api/access"
	"attestry/api/memory"
	"attestry/api/validation"
	"attestry/evidence"
	"attestry/links"
	"attestry/storage"
)

const shortOfMemory = "The service is short of memory, please try again."

// withBudget starts the test operations with a memory budget in MiB.
func withBudget(t *testing.T, size int64, more ...Route) *testServer {
	return start(t, append(testRoutes(), more...), func(d *Deps) { d.MemoryBudget = size * Mebibyte })
}

// exhaust reserves all memory of the budget that large requests may use.
func (r *testServer) exhaust(t *testing.T) *memory.Account {
	t.Helper()
	reservation := memory.NewAccount(r.budget)
	if err := reservation.Keep(r.budget.Total() - r.budget.Total()/8); err != nil {
		t.Fatal(err)
	}
	return reservation
}

// artifacts returns a report of at least so many bytes.
func artifacts(size int) string {
	var body strings.Builder
	body.WriteString(`{"artifacts":[`)
	for i := 0; body.Len() < size; i++ {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"digests":{"image-%d":"%064x"},"creationTimestamp":1795274782}`, i, i)
	}
	body.WriteString("]}")
	return body.String()
}

func (a answer) expectRetry(t *testing.T) {
	t.Helper()
	a.expect(t, http.StatusServiceUnavailable, shortOfMemory)
	if seconds, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || seconds < 1 {
		t.Errorf("Retry-After is %q", a.header.Get("Retry-After"))
	}
}

func TestBodyWithoutMemoryIsRefusedBeforeItIsRead(t *testing.T) {
	s := withBudget(t, 16)
	other := s.exhaust(t)
	conn, replies := s.dial(t)
	fmt.Fprintf(conn, "PUT %s/things/acme/x/report HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\nContent-Length: 4000000\r\n\r\n{", links.Prefix)
	conn.Write(bytes.Repeat([]byte(" "), 10_000)) // the server reads some of the body ahead
	response, err := http.ReadResponse(replies, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || !response.Close {
		t.Errorf("the connection is kept though most of the body is unread: %v", err)
	}
	answer{response.StatusCode, response.Header, string(body)}.expectRetry(t)
	other.Release()
	if got := s.send(t, "PUT", links.Prefix+"/things/acme/x/report", "admin", artifacts(1_000_000)); got.status != 200 {
		t.Errorf("when there is memory again: %d %s", got.status, got.body)
	}
	if s.budget.InUse() != 0 {
		t.Errorf("%d are reserved by nobody", s.budget.InUse())
	}
}

func TestBodyOfUnknownLengthIsRefusedWhereMemoryEnds(t *testing.T) {
	s := withBudget(t, 16)
	sent := 0
	request, err := http.NewRequestWithContext(t.Context(), "PUT", s.url+links.Prefix+"/things/acme/x/report", readFunc(func(p []byte) (int, error) {
		sent += len(p)
		return copy(p, bytes.Repeat([]byte(" "), len(p))), nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer admin")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	answer{response.StatusCode, response.Header, string(body)}.expectRetry(t)
	if s.budget.InUse() != 0 {
		t.Errorf("%d are reserved by nobody", s.budget.InUse())
	}
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestSlowBodiesReserveMemoryOnlyForWhatWasSent(t *testing.T) {
	s := withBudget(t, 256)
	conn, replies := s.dial(t)
	body := artifacts(8_000_000)
	fmt.Fprintf(conn, "PUT %s/things/acme/x/report HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\nContent-Length: %d\r\n\r\n", links.Prefix, len(body))
	sent := 0
	for _, upTo := range []int{400_000, 1_000_000, 3_000_000} {
		if _, err := io.WriteString(conn, body[sent:upTo]); err != nil {
			t.Fatal(err)
		}
		sent = upTo
		eventually(t, func() bool { return s.budget.InUse() >= int64(sent) })
		if reserved := s.budget.InUse(); reserved > 2*int64(sent) {
			t.Errorf("%d are reserved for %d bytes", reserved, sent)
		}
	}
	if _, err := io.WriteString(conn, body[sent:]); err != nil {
		t.Fatal(err)
	}
	if response, err := http.ReadResponse(replies, nil); err != nil || response.StatusCode != 200 {
		t.Errorf("in the end: %v, %v", response, err)
	}
}

func TestMemoryOfDecodingDependsOnTheContentOfTheBody(t *testing.T) {
	for name, row := range map[string]struct {
		body   string
		budget int64
		status int
	}{
		"report that fits":               {artifacts(1_000_000), 16, 200},
		"report of a larger budget":      {artifacts(4_000_000), 64, 200},
		"report beyond the budget":       {artifacts(4_000_000), 16, 503},
		"many small values":              {`{"artifacts":[` + strings.Repeat("{},", 200_000) + `{}]}`, 16, 503},
		"many small values that fit":     {`{"artifacts":[` + strings.Repeat("{},", 10_000) + `{}]}`, 16, 400},
		"numbers where none belong":      {`[` + strings.Repeat("1,", 1_000_000) + `1]`, 64, 503},
		"one long text in a wrong place": {`{"type":"` + strings.Repeat("x", 1_000_000) + `"}`, 16, 400},
	} {
		t.Run(name, func(t *testing.T) {
			s := withBudget(t, row.budget)
			got := s.send(t, "PUT", links.Prefix+"/things/acme/x/report", "admin", row.body)
			if got.status != row.status {
				t.Errorf("got %d %.200s, want %d", got.status, got.body, row.status)
			}
			if s.budget.InUse() != 0 {
				t.Errorf("%d are reserved by nobody", s.budget.InUse())
			}
		})
	}
}

func TestSmallRequestsAreServedWhileMemoryIsShort(t *testing.T) {
	s := withBudget(t, 16)
	s.exhaust(t)
	for range 50 {
		for _, path := range []string{"/ready", "/openapi.json", links.Prefix + "/things/acme/x", links.Prefix + "/things/acme/search"} {
			if got := s.send(t, "GET", path, "reader", ""); got.status != 200 {
				t.Fatalf("GET %s: %d %s", path, got.status, got.body)
			}
		}
		if got := s.send(t, "PUT", links.Prefix+"/things/acme", "member", `{"name":"x"}`); got.status != 201 {
			t.Fatalf("a small body: %d %s", got.status, got.body)
		}
	}
	if got := s.send(t, "PUT", links.Prefix+"/things/acme/x/report", "admin", artifacts(100_000)); got.status != 200 {
		t.Errorf("a report of 100 kB: %d %s", got.status, got.body)
	}
	s.send(t, "PUT", links.Prefix+"/things/acme/x/report", "admin", artifacts(1_000_000)).expectRetry(t)
}

// reading is a route whose handler reads so many bytes from storage.
func reading(bytes int) Route {
	return Route{Method: "GET", Path: "/read/{org}", OperationID: "read", Tag: "Read", Summary: "Read", Rule: access.Rule{MinRole: evidence.Reader},
		Serve: Handle(func(ctx context.Context, _ *orgInput) (*textOutput, error) {
			docs := &oneDocument{body: `"` + strings.Repeat("x", bytes) + `"`}
			_, err := storage.NewCollection(docs, &storage.Schema{Name: "texts"}, func(*string) string { return "" }, nil).Get(ctx, "id")
			return &textOutput{Status: 200, Body: "OK"}, err
		})}
}

// oneDocument is an engine with a single document.
type oneDocument struct {
	storage.Documents
	body string
}

func (d *oneDocument) Get(ctx context.Context, _ *storage.Schema, _ string) (storage.Record, error) {
	return storage.Record{ID: "id", Body: []byte(d.body)}, storage.ChargeRead(ctx, len(d.body))
}

func TestReadsForAnAnswerReserveMemory(t *testing.T) {
	s := withBudget(t, 16, reading(4_000_000))
	if got := s.send(t, "GET", links.Prefix+"/read/acme", "reader", ""); got.status != 200 {
		t.Errorf("with memory: %d %s", got.status, got.body)
	}
	if s.budget.InUse() != 0 {
		t.Errorf("%d are reserved by nobody", s.budget.InUse())
	}
	s.exhaust(t)
	s.send(t, "GET", links.Prefix+"/read/acme", "reader", "").expectRetry(t)
	small := withBudget(t, 16, reading(80_000))
	small.exhaust(t)
	if got := small.send(t, "GET", links.Prefix+"/read/acme", "reader", ""); got.status != 200 {
		t.Errorf("a small answer without memory: %d %s", got.status, got.body)
	}
}

func TestStreamedListNeedsMemoryBeforeItsFirstByte(t *testing.T) {
	list := &batched{batches: 100, size: 10_000}
	s := startBatched(t, list, func(d *Deps) { d.MemoryBudget = 16 * Mebibyte })
	other := s.exhaust(t)
	for range 2 { // use up the memory that is kept for small requests, too
		if err := memory.NewAccount(s.budget).Keep(memory.Small); err != nil {
			t.Fatal(err)
		}
	}
	s.send(t, "GET", links.Prefix+"/lists/acme", "reader", "").expectRetry(t)
	other.Release()
	list.read.Store(0)
	if got := s.send(t, "GET", links.Prefix+"/lists/acme", "reader", ""); got.status != 200 || got.body != list.want() {
		t.Errorf("with memory: %d, %d bytes", got.status, len(got.body))
	}
}

func TestMemoryIsMeasured(t *testing.T) {
	s := withBudget(t, 16)
	other := s.exhaust(t)
	s.send(t, "PUT", links.Prefix+"/things/acme/x/report", "admin", artifacts(1_000_000)).expectRetry(t)
	for name, want := range map[string]float64{
		"attestry_memory_budget_bytes": 16 * Mebibyte, "attestry_memory_reserved_bytes": 14 * Mebibyte, "attestry_memory_refusals_total": 1,
	} {
		if got := metric(t, s.registry, name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	other.Release()
	if got := metric(t, s.registry, "attestry_memory_reserved_bytes"); got != 0 {
		t.Errorf("%v are reserved by nobody", got)
	}
}

func metric(t *testing.T, registry *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			one := family.GetMetric()[0]
			return one.GetGauge().GetValue() + one.GetCounter().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

func TestEstimatesOfDecodingCoverTheMeasuredMemory(t *testing.T) {
	for name, row := range map[string]struct {
		body           string
		strict, parsed float64 // least multiples of the body, as measured
	}{
		"pods":               {`{"podName":"cart-7d9f8b6c5-x1","namespace":"team","digests":{"registry.example.com/cart:1.4.2":"` + strings.Repeat("a", 64) + `"},"creationTimestamp":1795274782,"owners":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"cart-7d9f8b6c5","uid":"8d3f9a1e-4c2b-4f6a-9d7e-000000000001","controller":true}]},`, 1.8, 8.5},
		"small pods":         {`{"podName":"p1","namespace":"n","digests":{"i":"` + strings.Repeat("a", 64) + `"},"creationTimestamp":1},`, 3.5, 8.5},
		"empty objects":      {"{},", 78, 65},
		"numbers":            {"1,", 0, 28},
		"empty lists":        {"[],", 0, 25},
		"members":            {`"a1b2c":1,`, 7, 18},
		"one character each": {"x", 0, 4},
	} {
		body := []byte(strings.Repeat(row.body, 1000))
		if got := float64(validation.StrictSize(body)) / float64(len(body)); got < row.strict {
			t.Errorf("%s: strict decoding is charged %.1f times the body, less than %.1f", name, got, row.strict)
		}
		if got := float64(validation.ParsedSize(body)) / float64(len(body)); got < row.parsed {
			t.Errorf("%s: parsing is charged %.1f times the body, less than %.1f", name, got, row.parsed)
		}
	}
}
