package config_test

import (
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"testing"

	"attestry/config"
)

// embedded returns defaults for all required settings.
func embedded() map[string]string {
	return map[string]string{
		"ATTESTRY_DATABASE_URL":   "pebble:///data/documents",
		"ATTESTRY_OBJECTS_URL":    "file:///data/objects",
		"ATTESTRY_REDIS_URL":      "",
		"ATTESTRY_MONITOR_LISTEN": "off",
		"ATTESTRY_LOG_LEVEL":      "warn",
	}
}

func TestFlagsOverrideTheEnvironmentAndBothOverrideDefaults(t *testing.T) {
	sources := config.Sources{
		Environ: []string{
			"ATTESTRY_LISTEN=127.0.0.1:1", "ATTESTRY_CONCURRENCY=3", "ATTESTRY_LOG_LEVEL=debug",
			// An empty value counts as not set.
			"ATTESTRY_DATABASE_URL=",
		},
		Flags:    []config.Flag{{Name: "--listen", Variable: "ATTESTRY_LISTEN", Value: "127.0.0.1:2"}},
		Defaults: embedded(),
	}
	got, err := config.LoadFrom(sources)
	if err != nil {
		t.Fatal(err)
	}
	if got.HTTP.Listen != "127.0.0.1:2" || got.HTTP.BaseURL != "http://127.0.0.1:2" || got.Worker.Concurrency != 3 ||
		got.Process.LogLevel != slog.LevelDebug || got.Process.MonitorListen != "" ||
		got.Stores.Database.Path != "/data/documents" || got.Stores.Redis.URL != "" {
		t.Errorf("got %+v", got)
	}
	want := []string{
		"ATTESTRY_CONCURRENCY=3", "ATTESTRY_DATABASE_URL=pebble:///data/documents", "ATTESTRY_LISTEN=127.0.0.1:2",
		"ATTESTRY_LOG_LEVEL=debug", "ATTESTRY_MONITOR_LISTEN=off", "ATTESTRY_OBJECTS_URL=file:///data/objects", "ATTESTRY_REDIS_URL=",
	}
	if got := sources.Environment(); !slices.Equal(got, want) {
		t.Errorf("the environment is %v, want %v", got, want)
	}
}

func TestFaultsOfFlagsNameTheFlag(t *testing.T) {
	_, err := config.LoadFrom(config.Sources{
		Environ:  []string{"ATTESTRY_QUEUES=repots=1", "ATTESTRY_LISTEN=127.0.0.1:1", "ATTESTRY_LISTENS=x"},
		Flags:    []config.Flag{{Name: "--listen", Variable: "ATTESTRY_LISTEN", Value: "nowhere"}, {Name: "--monitor", Variable: "ATTESTRY_MONITOR_LISTEN", Value: "70000"}},
		Defaults: embedded(),
	})
	want := config.Faults{
		"--listen: is not of the form host:port",
		`ATTESTRY_QUEUES: "repots" is not a queue: there are reports, compliance, notifications, packages, log`,
		"--monitor: is not of the form host:port",
		"ATTESTRY_LISTENS: is not a setting",
	}
	var faults config.Faults
	if !errors.As(err, &faults) || !reflect.DeepEqual(faults, want) {
		t.Errorf("got\n%v\nwant\n%v", err, want)
	}
}
