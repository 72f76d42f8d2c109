package trace_test

import (
	"context"
	"testing"

	"attestry/trace"
)

func TestTraceparentsAreParsedAsW3CTraceContextSays(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	const parent = "00-" + id + "-00f067aa0ba902b7"
	for header, want := range map[string]string{
		"00-" + id + "-00f067aa0ba902b7-01":                       parent + "-01",
		"00-" + id + "-00f067aa0ba902b7-00":                       parent + "-00",
		"00-" + id + "-00f067aa0ba902b7-ff":                       parent + "-03",
		"01-" + id + "-00f067aa0ba902b7-01":                       parent + "-01",
		"01-" + id + "-00f067aa0ba902b7-01-more":                  parent + "-01",
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
			t.Errorf("%q is %q, want %q", header, got, want)
		}
	}
	// Tasks of earlier versions have only the id.
	for _, reference := range []string{parent + "-01", id} {
		ctx := trace.With(context.Background(), reference)
		if got := trace.ID(ctx); got != id || trace.Reference(ctx) != reference {
			t.Errorf("the context has the trace %q by %q", got, trace.Reference(ctx))
		}
	}
	if ctx := context.Background(); trace.With(ctx, "") != ctx || trace.ID(ctx) != "" {
		t.Error("a context without a trace has one")
	}
}
