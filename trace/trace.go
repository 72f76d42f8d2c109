// Package trace carries traces (W3C Trace Context) from requests to tasks and into the log, and begins the spans of a
// build that exports them.
package trace

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
)

// pattern is that of the header traceparent: version, trace id, parent id and flags. Later versions may append more.
var pattern = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$`)

const (
	// knownFlags are the defined flags: sampled and random trace id.
	knownFlags = 3
	// referenceLength is the length of what Parse returns; its id begins at idStart.
	referenceLength   = 55
	idStart, idLength = 3, 32
)

// Parse returns a header traceparent in the format of version 00, "" if it is not valid.
func Parse(traceparent string) string {
	parts := pattern.FindStringSubmatch(traceparent)
	if parts == nil || parts[1] == "ff" || parts[1] == "00" && parts[5] != "" || strings.Trim(parts[2], "0") == "" || strings.Trim(parts[3], "0") == "" {
		return ""
	}
	flags, _ := strconv.ParseUint(parts[4], 16, 8) // two digits, as the pattern says
	return fmt.Sprintf("00-%s-%s-%02x", parts[2], parts[3], flags&knownFlags)
}

type referenceKey struct{}

// With returns a context with a trace, by its reference: the result of Parse or, in tasks of earlier versions, the
// trace id. "" means no trace.
func With(ctx context.Context, reference string) context.Context {
	if reference == "" {
		return ctx
	}
	return context.WithValue(ctx, referenceKey{}, reference)
}

// Reference returns the traceparent for tasks of a context, which names the current span, "" without a trace.
func Reference(ctx context.Context) string {
	reference, _ := ctx.Value(referenceKey{}).(string)
	return reference
}

// ID returns the id of the trace of a context, "" if it has none.
func ID(ctx context.Context) string {
	reference := Reference(ctx)
	if len(reference) == referenceLength {
		return reference[idStart : idStart+idLength]
	}
	return reference
}

// Kind is the kind of a span.
type Kind int

// The kinds of spans.
const (
	Server   Kind = iota // an incoming request
	Consumer             // a task
	Client               // a command or a request to another process
)

// Span is a running operation.
type Span interface {
	// SetName replaces the name of the span.
	SetName(name string)
	// Traceparent is the header of requests that belong to the span, "" if spans are not exported.
	Traceparent() string
	// End ends the span. Attributes never hold secrets, queries or content.
	End(failed bool, attributes ...slog.Attr)
}

// Tracer begins spans.
type Tracer interface {
	// Start begins a child of the span of the context or of its Reference, and returns the context of the new span. A
	// span of the kind Client does not begin a trace.
	Start(ctx context.Context, kind Kind, name string) (context.Context, Span)
}

// tracer is nil if spans are not exported.
var tracer Tracer

// Use sets the tracer. Call it before anything else of the process starts.
func Use(t Tracer) { tracer = t }

// Start calls Start of the tracer. Without one it does nothing.
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
