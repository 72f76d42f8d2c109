package monitor_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"attestry/monitor"
)

func TestDependencyWhoseCheckPanicsIsNotReady(t *testing.T) {
	ready := monitor.NewReadiness([]monitor.Check{
		{Name: "Documents", Required: true, Ping: func(context.Context) error { panic("poison") }},
		{Name: "Objects", Required: true, Ping: func(context.Context) error { return errors.New("away") }},
		{Name: "Redis", Ping: func(context.Context) error { return nil }},
	}, time.Now)
	states, all := ready.States(t.Context())
	if all || len(states) != 3 {
		t.Fatalf("ready %v, %d states", all, len(states))
	}
	for i, reason := range []string{"poison", "away", ""} {
		state := states[i]
		if state.Ready != (reason == "") || !strings.Contains(state.Reason, reason) {
			t.Errorf("%s: ready %v, reason %q", state.Name, state.Ready, state.Reason)
		}
	}
}

func TestReadyDependencyCanWarn(t *testing.T) {
	warning := ""
	ready := monitor.NewReadiness([]monitor.Check{{
		Name: "Documents", Required: true, Ping: func(context.Context) error { return nil },
		Warning: func() string { return warning },
	}}, time.Now)
	for _, warning = range []string{"", "damaged: 000004.sst"} {
		if states, all := ready.States(t.Context()); !all || states[0].Warning != warning {
			t.Errorf("ready %v, warning %q, want %q", all, states[0].Warning, warning)
		}
	}
}
