package trace_test

import (
	"context"
	"testing"

	"attestry/trace"
)

func TestTraceparentsAreParsedAsW3CTraceContextSays(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	for header, want := range map[string]string{
		"00-" + id + "-00f067aa0ba902b7-01":                       id,
		"00-" + id + "-00f067aa0ba902b7-00":                       id,
		"01-" + id + "-00f067aa0ba902b7-01":                       id,
		"01-" + id + "-00f067aa0ba902b7-01-more":                  id,
		"00-" + id + "-00f067aa0ba902b7-01-more":                  "",
		"01-" + id + "-00f067aa0ba902b7-01more":                   "",
		"ff-" + id + "-00f067aa0ba902b7-01":                       "",
		"00-" + id + "-0000000000000000-01":                       "",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": "",
		"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01": "",
		"00-" + id + "-00f067aa0ba902b7":                          "",
		" 00-" + id + "-00f067aa0ba902b7-01":                      "",
		"00-" + id + "\n-00f067aa0ba902b7-01":                     "",
		"":                                                        "",
	} {
		if got := trace.Parse(header); got != want {
			t.Errorf("%q is the trace %q, want %q", header, got, want)
		}
	}
	if got := trace.ID(trace.With(context.Background(), id)); got != id {
		t.Errorf("the context has the trace %q", got)
	}
	if ctx := context.Background(); trace.With(ctx, "") != ctx || trace.ID(ctx) != "" {
		t.Error("a context without a trace has one")
	}
}
