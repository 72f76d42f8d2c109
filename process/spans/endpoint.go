// Package spans exports the spans of a process by OpenTelemetry, in a build with the tag otel. Other builds do not have its
// packages.
package spans

import "os"

// endpoint is the variable that names the collector, and its value, "" without one.
func endpoint() (variable, value string) {
	const general, traces = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	if value = os.Getenv(traces); value != "" {
		return traces, value
	}
	return general, os.Getenv(general)
}
