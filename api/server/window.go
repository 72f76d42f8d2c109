package server

import (
	"context"

	"attestry/evidence"
)

const (
	// defaultWindow is how far back a window reaches unless it says so, in seconds: 28
	// days (contract/semantics.md 7).
	defaultWindow = 28 * 24 * 3600
	// maxSeries is how many moments a series holds at most, the newest of them.
	maxSeries = 100_000
)

// WindowQuery bounds what is asked for in time. It is exported because huma passes
// over embedded types that are not.
type WindowQuery struct {
	Start float64 `query:"start_ts" doc:"Unix seconds, included. 28 days before end_ts when left out."`
	End   float64 `query:"end_ts" doc:"Unix seconds, included. Now when left out."`
}

// window is a span between two times in Unix seconds, both included. One that ends
// before it begins holds nothing.
type window struct{ from, to float64 }

// window fills in what was left out of a query. It is rounded, as answers tell it.
func (b *Base) window(ctx context.Context, in WindowQuery) window {
	return b.windowBetween(sent(ctx, "start_ts", in.Start), sent(ctx, "end_ts", in.End))
}

// windowBetween fills in the bounds that are nil.
func (b *Base) windowBetween(start, end *float64) window {
	if end == nil {
		end = new(evidence.Seconds(b.clock()))
	}
	if start == nil {
		start = new(*end - defaultWindow)
	}
	return window{from: evidence.RoundSeconds(*start), to: evidence.RoundSeconds(*end)}
}

// bounds are the times to search between: half a microsecond before and behind the
// window, as earlier versions stored some times that were not rounded.
func (w window) bounds() (from, to float64) {
	const rounding = 0.5e-6
	return w.from - rounding, w.to + rounding
}

// sent is the value of a query parameter, nil when it was not sent.
func sent(ctx context.Context, name string, value float64) *float64 {
	if !given(ctx, name) {
		return nil
	}
	return &value
}
