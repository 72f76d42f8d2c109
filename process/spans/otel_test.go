//go:build otel

package spans_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/identity"
	"attestry/process"
	"attestry/process/spans"
	"attestry/scripts/standalone/instance"
	"attestry/trace"
)

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	caller  = "00f067aa0ba902b7" // id of the span of the client
	secret  = "s3cr3t"
)

// receiver receives spans like a collector.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	bodies   []byte
	resource string
	spans    []*otlp.Span
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		var sent collector.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(body, &sent) != nil || request.URL.Path != "/v1/traces" || request.Header.Get("Api-Key") != secret {
			t.Errorf("%s got %q of %v, %v", request.URL.Path, body, request.Header, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bodies = append(r.bodies, body...)
		for _, of := range sent.ResourceSpans {
			r.resource = of.Resource.String()
			for _, scope := range of.ScopeSpans {
				r.spans = append(r.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// named returns the only span of the trace with a name.
func (r *receiver) named(t *testing.T, name string) *otlp.Span {
	t.Helper()
	var found []*otlp.Span
	var names []string
	for _, span := range r.spans {
		names = append(names, span.Name)
		if span.Name == name && hex.EncodeToString(span.TraceId) == traceID {
			found = append(found, span)
		}
	}
	if len(found) != 1 {
		t.Fatalf("there are %d spans %q among %q", len(found), name, names)
	}
	return found[0]
}

// about returns an attribute of a span as text.
func about(span *otlp.Span, key string) string {
	for _, attribute := range span.Attributes {
		if attribute.Key == key {
			return strings.Trim(strings.TrimSpace(attribute.Value.String()[strings.Index(attribute.Value.String(), ":")+1:]), `"`)
		}
	}
	return ""
}

// TestSpansFollowAReportToItsWebhook sends a report with a trace through the queues. An action notifies a webhook of
// it, whose address has a secret.
func TestSpansFollowAReportToItsWebhook(t *testing.T) {
	exported := newReceiver(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", exported.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key="+secret)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	stop, err := spans.Start(t.Context(), "standalone", slog.New(slog.DiscardHandler))
	evidencetest.Must(t, err)
	notified := make(chan http.Header, 1)
	webhook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) { notified <- request.Header }))
	defer webhook.Close()

	var log bytes.Buffer
	key := evidence.NewAPIKey()
	running, err := instance.Start(t.Context(), instance.Options{
		Listen: "127.0.0.1:0", Data: t.TempDir(), Redis: "redis://" + miniredis.RunT(t).Addr(), Clock: time.Now, ReportWait: 10 * time.Second,
		Environ: []string{"ATTESTRY_OUTBOUND_ALLOW=127.0.0.1"}, Log: process.NewLog(&log, slog.LevelInfo),
		Prepare: func(ctx context.Context, p *process.Process) error {
			_, err := p.Store.Tenancy.ApplyBootstrap(ctx, identity.Bootstrap{
				Users:         []identity.DeclaredUser{{Name: "ann", Keys: []identity.DeclaredKey{{Description: "test", Secret: key}}}},
				Organizations: []identity.DeclaredOrganization{{Name: "acme", Members: map[string]evidence.Role{"ann": evidence.Admin}}},
			})
			return err
		},
	})
	evidencetest.Must(t, err)
	put := func(path, traceparent, body string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, running.URL+"/api/v2"+path, strings.NewReader(body))
		evidencetest.Must(t, err)
		request.Header = http.Header{"Authorization": {"Bearer " + key.Reveal()}, "Content-Type": {"application/json"}, "Traceparent": {traceparent}}
		response, err := http.DefaultClient.Do(request)
		evidencetest.Must(t, err)
		defer response.Body.Close()
		if answer, err := io.ReadAll(response.Body); err != nil || response.StatusCode >= http.StatusMultipleChoices {
			t.Fatalf("%s: %s %s %v", path, response.Status, answer, err)
		}
	}
	put("/environments/acme", "", `{"name":"host","type":"server","description":"of a test"}`)
	put("/actions/acme/environments", "", `{"name":"tell","environments":["host"],"triggers":["ON_STARTED_ARTIFACT"],"targets":[{"type":"WEBHOOK","webhook":"`+
		webhook.URL+"/"+secret+"?token="+secret+`"}]}`)
	put("/environments/acme/host/report/server?unused="+secret, "00-"+traceID+"-"+caller+"-01",
		`{"artifacts":[{"digests":{"/opt/shop":"`+strings.Repeat("ab", 32)+`"},"creationTimestamp":1700000000}]}`)
	header := <-notified
	org, err := running.Process.Store.Tenancy.Organization(t.Context(), "acme")
	evidencetest.Must(t, err)
	evidencetest.Check(t, running.Close())
	stop()

	parent := caller
	const route = "/environments/{org}/{env_name}/report/server"
	for _, want := range []struct {
		name string
		kind otlp.Span_SpanKind
	}{
		{"PUT " + route, otlp.Span_SPAN_KIND_SERVER},
		{"environment:report", otlp.Span_SPAN_KIND_CONSUMER},
		{"event:fanout", otlp.Span_SPAN_KIND_CONSUMER},
		{"delivery:send", otlp.Span_SPAN_KIND_CONSUMER},
		{"POST", otlp.Span_SPAN_KIND_CLIENT},
	} {
		span := exported.named(t, want.name)
		if span.Kind != want.kind || hex.EncodeToString(span.ParentSpanId) != parent || span.Status.GetCode() != otlp.Status_STATUS_CODE_UNSET {
			t.Errorf("%s is of kind %v with the parent %x, want %v with %s", want.name, span.Kind, span.ParentSpanId, want.kind, parent)
		}
		parent = hex.EncodeToString(span.SpanId)
	}
	if got, want := header.Get("traceparent"), "00-"+traceID+"-"+parent+"-01"; got != want {
		t.Errorf("the webhook got %q, want %q", got, want)
	}
	request, call := exported.named(t, "PUT "+route), exported.named(t, "POST")
	for _, row := range [][2]string{
		{about(request, "http.route"), route}, {about(request, "http.request.method"), "PUT"}, {about(request, "http.response.status_code"), "201"},
		{about(request, "attestry.organization.id"), org.ID}, {about(call, "server.address"), "127.0.0.1"}, {about(call, "http.response.status_code"), "200"},
		{about(exported.named(t, "delivery:send"), "messaging.destination.name"), "notifications"},
	} {
		if row[0] != row[1] {
			t.Errorf("an attribute is %q, want %q", row[0], row[1])
		}
	}
	exported.checkCommands(t)
	for _, hidden := range []string{secret, key.Reveal(), "Bearer", "/opt/shop"} {
		if bytes.Contains(exported.bodies, []byte(hidden)) {
			t.Errorf("spans have %q", hidden)
		}
	}
	evidencetest.Contains(t, exported.resource, "attestry-standalone", "deployment.environment.name")
	if lines := strings.Count(log.String(), `"msg":"request"`); lines != 3 || strings.Count(log.String(), `"trace_id":"`) < lines || !strings.Contains(log.String(), `"trace_id":"`+traceID+`"`) {
		t.Errorf("the log lacks traces: %s", &log)
	}
}

// checkCommands checks that there are spans of commands of each store, and that the parent of each is exported, too.
func (r *receiver) checkCommands(t *testing.T) {
	t.Helper()
	var ids, names []string
	for _, span := range r.spans {
		ids = append(ids, string(span.SpanId))
	}
	for _, span := range r.spans {
		if span.Kind != otlp.Span_SPAN_KIND_CLIENT {
			continue
		}
		names = append(names, span.Name)
		if !slices.Contains(ids, string(span.ParentSpanId)) {
			t.Errorf("%s has no parent", span.Name)
		}
		if about(span, "db.collection.name") == "" && strings.HasPrefix(span.Name, "database ") && span.Name != "database write" {
			t.Errorf("%s names no collection", span.Name)
		}
	}
	for _, want := range []string{"database get", "database insert", "database write", "redis publish"} {
		if !slices.Contains(names, want) {
			t.Errorf("there is no span %q among %q", want, names)
		}
	}
}

func TestStartRefusesInvalidOpenTelemetrySettings(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, row := range []struct{ variable, value, want string }{
		{endpoint, "collector:4318", "OTEL_EXPORTER_OTLP_ENDPOINT"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"},
		{endpoint, "http://ann:" + secret + "@%zz", "OTEL_EXPORTER_OTLP_ENDPOINT"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "http/protobuf"},
		{"OTEL_TRACES_EXPORTER", "zipkin", "otlp or none"},
		{"OTEL_TRACES_SAMPLER", "sometimes", "unsupported sampler: sometimes"},
		{"OTEL_EXPORTER_OTLP_HEADERS", secret, "parse headers"},
		{"OTEL_EXPORTER_OTLP_TIMEOUT", "1s", "parse duration"},
		{"OTEL_BSP_SCHEDULE_DELAY", "1s", "OTEL_BSP_SCHEDULE_DELAY"},
		{"OTEL_RESOURCE_ATTRIBUTES", "production", "missing value"},
	} {
		t.Run(row.variable, func(t *testing.T) {
			t.Setenv(endpoint, "http://127.0.0.1:1")
			t.Setenv(row.variable, row.value)
			_, err := spans.Start(t.Context(), "api", slog.New(slog.DiscardHandler))
			if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), secret) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestNothingIsExportedUnlessConfigured(t *testing.T) {
	for _, environ := range [][2]string{{"", ""}, {"OTEL_SDK_DISABLED", "TRUE"}, {"OTEL_TRACES_EXPORTER", "none"}} {
		t.Run(environ[0], func(t *testing.T) {
			if environ[0] != "" {
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
				t.Setenv(environ[0], environ[1])
			}
			var log bytes.Buffer
			stop, err := spans.Start(t.Context(), "api", slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil || log.Len() > 0 {
				t.Errorf("it starts: %v, %s", err, &log)
			}
			stop()
		})
	}
}

// The task is of an earlier version, whose trace is only an id. The command belongs to no task.
func TestSpansWithoutAParentAreExportedOnlyForTasks(t *testing.T) {
	exported := newReceiver(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", exported.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key="+secret)
	stop, err := spans.Start(t.Context(), "worker", slog.New(slog.DiscardHandler))
	evidencetest.Must(t, err)
	ctx, span := trace.Start(trace.With(t.Context(), traceID), trace.Consumer, "task")
	span.End(true)
	_, alone := trace.Start(t.Context(), trace.Client, "database get")
	alone.End(false)
	stop()
	if len(exported.spans) != 1 || exported.spans[0].Status.GetCode() != otlp.Status_STATUS_CODE_ERROR || hex.EncodeToString(exported.spans[0].TraceId) != trace.ID(ctx) {
		t.Errorf("exported %v", exported.spans)
	}
}
