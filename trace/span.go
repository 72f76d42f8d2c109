package trace

import (
	"context"
	"log/slog"
)

// Kind says what a span is of.
type Kind int

// The kinds of spans.
const (
	Server   Kind = iota // a request that is answered
	Consumer             // a task
	Client               // a command or a request to another process
)

// Span is an operation under way.
type Span interface {
	// SetName replaces the name that the span began with.
	SetName(name string)
	// Traceparent is the header of requests that belong to the span, "" if spans are not exported.
	Traceparent() string
	// End ends the span. Attributes never hold secrets, queries or content.
	End(failed bool, attributes ...slog.Attr)
}

// Tracer begins spans.
type Tracer interface {
	// Start begins a span within that of the context or of its Reference, and returns the context of what belongs to
	// it. A span of the kind Client begins no trace of its own.
	Start(ctx context.Context, kind Kind, name string) (context.Context, Span)
}

// tracer is nil if spans are not exported.
var tracer Tracer

// Use has spans made by a tracer. It is called before anything else of the process starts.
func Use(t Tracer) { tracer = t }

// Start is that of the tracer in use. Without one it does nothing.
func Start(ctx context.Context, kind Kind, name string) (context.Context, Span) {
	if tracer == nil {
		return ctx, None{}
	}
	return tracer.Start(ctx, kind, name)
}

// None is a span that is not exported.
type None struct{}

// SetName does nothing.
func (None) SetName(string) {}

// Traceparent is "".
func (None) Traceparent() string { return "" }

// End does nothing.
func (None) End(bool, ...slog.Attr) {}
