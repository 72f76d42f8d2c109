// Package trace carries the ids of traces (W3C Trace Context) from requests to tasks and into the log.
package trace

import (
	"context"
	"regexp"
	"strings"
)

// pattern is that of the header traceparent: version, id of the trace, id of the parent and flags. Later versions may have
// more behind them.
var pattern = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)

// Parse returns the id of the trace in a header traceparent, "" if the header is not valid.
func Parse(traceparent string) string {
	parts := pattern.FindStringSubmatch(traceparent)
	if parts == nil || parts[1] == "ff" || parts[1] == "00" && parts[4] != "" || strings.Trim(parts[2], "0") == "" || strings.Trim(parts[3], "0") == "" {
		return ""
	}
	return strings.Clone(parts[2]) // the header may be overwritten
}

type idKey struct{}

// With returns a context of a trace, by its id; "" is no trace.
func With(ctx context.Context, id string) context.Context {
	if id == "" {
		return ctx
	}
	return context.WithValue(ctx, idKey{}, id)
}

// ID returns the id of the trace of a context, "" if it has none.
func ID(ctx context.Context) string {
	id, _ := ctx.Value(idKey{}).(string)
	return id
}
