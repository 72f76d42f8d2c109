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

// kinds are the kinds of spans as OpenTelemetry names them.
var kinds = map[trace.Kind]otel.SpanKind{trace.Server: otel.SpanKindServer, trace.Consumer: otel.SpanKindConsumer, trace.Client: otel.SpanKindClient}

// header is the header of W3C Trace Context with the id of the parent.
const header = "traceparent"

type tracer struct{ tracer otel.Tracer }

// Start begins a span. A span of this process in the context is its parent, else the one that the reference names. Without
// either, a command of a background loop is no trace worth keeping.
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

// Traceparent names the span.
func (s span) Traceparent() string { return s.traceparent }

// End ends the span. Why it failed is in the log alone: the text of an error may hold what is secret.
func (s span) End(failed bool, attributes ...slog.Attr) {
	for _, about := range attributes {
		if about.Value.Kind() == slog.KindInt64 {
			s.SetAttributes(attribute.Int64(about.Key, about.Value.Int64()))
		} else {
			s.SetAttributes(attribute.String(about.Key, about.Value.String()))
		}
	}
	if failed {
		s.SetStatus(codes.Error, "")
	}
	s.Span.End()
}
