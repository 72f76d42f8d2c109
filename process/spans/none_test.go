//go:build !otel

package spans_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"attestry/process/spans"
)

func TestBuildWithoutOtelWarnsOfAConfiguredCollector(t *testing.T) {
	for _, row := range []struct{ variable, want string }{
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "built without the tag otel"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "built without the tag otel"},
		{"OTEL_SERVICE_NAME", ""},
	} {
		t.Run(row.variable, func(t *testing.T) {
			t.Setenv(row.variable, "http://127.0.0.1:1")
			var log bytes.Buffer
			stop, err := spans.Start(t.Context(), "api", slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil || !strings.Contains(log.String(), row.want) || row.want == "" && log.Len() > 0 {
				t.Errorf("it starts: %v, %s", err, &log)
			}
			stop()
		})
	}
}
