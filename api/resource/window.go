package resource

import (
	"context"

	"attestry/api/server"
	"attestry/evidence"
)

const (
	// DefaultWindow is how far back a window reaches unless it says so, in seconds: 28
	// days (docs/semantics.md 14.4).
	DefaultWindow = 28 * 24 * 3600
	// MaxSeries is how many moments a series holds at most, the newest of them.
	MaxSeries = 100_000
)

// WindowQuery bounds what is asked for in time. It is exported because huma passes
// over embedded types that are not.
type WindowQuery struct {
	Start float64 `query:"start_ts" doc:"Unix seconds, included. 28 days before end_ts when left out."`
	End   float64 `query:"end_ts" doc:"Unix seconds, included. Now when left out."`
}

// Window is a span between two times in Unix seconds, both included. One that ends
// before it begins holds nothing.
type Window struct{ From, To float64 }

// WindowOf fills in what was left out of a query. It is rounded, as answers tell it.
func (b *Base) WindowOf(ctx context.Context, in WindowQuery) Window {
	return b.WindowBetween(IfSent(ctx, "start_ts", in.Start), IfSent(ctx, "end_ts", in.End))
}

// WindowBetween fills in the bounds that are nil.
func (b *Base) WindowBetween(start, end *float64) Window {
	if end == nil {
		end = new(evidence.Seconds(b.Clock()))
	}
	if start == nil {
		start = new(*end - DefaultWindow)
	}
	return Window{From: evidence.RoundSeconds(*start), To: evidence.RoundSeconds(*end)}
}

// Bounds are the times to search between: half a microsecond before and behind the
// window, as earlier versions stored some times that were not rounded.
func (w Window) Bounds() (from, to float64) {
	const rounding = 0.5e-6
	return w.From - rounding, w.To + rounding
}

// IfSent is the value of a query parameter, nil when it was not sent.
func IfSent[T any](ctx context.Context, name string, value T) *T {
	if !server.QueryHas(ctx, name) {
		return nil
	}
	return &value
}
