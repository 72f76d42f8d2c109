// Package spans exports the spans of a process by OpenTelemetry. Only builds with the tag otel contain OpenTelemetry.
package spans

import "os"

// endpoint returns the variable with the address of the collector and its value, "" if it is not set.
func endpoint() (variable, value string) {
	const general, traces = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	if value = os.Getenv(traces); value != "" {
		return traces, value
	}
	return general, os.Getenv(general)
}
