//go:build otel

package spans

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	otel "go.opentelemetry.io/otel/trace"

	"attestry/trace"
)

// kinds maps the kinds of spans to those of OpenTelemetry.
var kinds = map[trace.Kind]otel.SpanKind{trace.Server: otel.SpanKindServer, trace.Consumer: otel.SpanKindConsumer, trace.Client: otel.SpanKindClient}

// header is the header of W3C Trace Context with the id of the parent.
const header = "traceparent"

type tracer struct{ tracer otel.Tracer }

// Start begins a span. Its parent is the span of this process in the context, else the one that the reference names.
// Without either, it begins no span for a client call: a call of a background loop needs no trace.
func (t tracer) Start(ctx context.Context, kind trace.Kind, name string) (context.Context, trace.Span) {
	if !otel.SpanContextFromContext(ctx).IsValid() {
		if kind == trace.Client {
			return ctx, trace.None{}
		}
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{header: trace.Reference(ctx)})
	}
	ctx, begun := t.tracer.Start(ctx, name, otel.WithSpanKind(kinds[kind]))
	sent := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, sent)
	return trace.With(ctx, sent[header]), span{Span: begun, traceparent: sent[header]}
}

// span is a span of OpenTelemetry.
type span struct {
	otel.Span
	traceparent string
}

// Traceparent returns the traceparent header of the span.
func (s span) Traceparent() string { return s.traceparent }

// End ends the span. The error is only in the log, as its text may have secrets.
func (s span) End(failed bool, attributes ...slog.Attr) {
	for _, attr := range attributes {
		if attr.Value.Kind() == slog.KindInt64 {
			s.SetAttributes(attribute.Int64(attr.Key, attr.Value.Int64()))
		} else {
			s.SetAttributes(attribute.String(attr.Key, attr.Value.String()))
		}
	}
	if failed {
		s.SetStatus(codes.Error, "")
	}
	s.Span.End()
}
