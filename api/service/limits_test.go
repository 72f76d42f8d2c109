package service

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"attestry/app"
	"attestry/config"
	"attestry/process"
)

func TestOnlyConfiguredLimitsAreMade(t *testing.T) {
	for name, row := range map[string]struct {
		limits          config.Limits
		attempts, rates bool
	}{
		"none":                  {config.Limits{}, false, false},
		"failed keys":           {config.Limits{FailedKeyLimit: 1}, true, false},
		"rate of keys":          {config.Limits{RateLimitKey: 1}, false, true},
		"rate of organizations": {config.Limits{RateLimitOrg: 1}, false, true},
		"all":                   {config.Limits{RateLimitKey: 1, RateLimitOrg: 1, FailedKeyLimit: 1}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			gate, connections, err := newGate(&process.Process{
				Settings: config.Settings{Limits: row.limits, Stores: config.Stores{Redis: config.Redis{URL: "redis://127.0.0.1:6379"}}},
				Log:      slog.New(slog.DiscardHandler), Clock: time.Now, Store: &app.Store{}, Metrics: prometheus.NewRegistry(),
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if (gate.Attempts != nil) != row.attempts || (gate.Rates != nil) != row.rates || (connections != nil) != row.rates {
				t.Errorf("made %v, %v and %v", gate.Attempts, gate.Rates, connections)
			}
			if connections != nil {
				if err := connections.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
