package outbound

import (
	"log/slog"
	"net/http"

	"attestry/trace"
)

// tracedTransport makes a span of each call, which the server is told of. The path, the query, the headers and the bodies may
// hold secrets.
type tracedTransport struct{ limitedTransport }

// RoundTrip ends the span when the answer begins.
func (t tracedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, span := trace.Start(request.Context(), trace.Client, request.Method)
	if parent := span.Traceparent(); parent != "" {
		request = request.Clone(ctx)
		request.Header.Set("traceparent", parent)
	}
	response, err := t.limitedTransport.RoundTrip(request)
	about := []slog.Attr{slog.String("http.request.method", request.Method), slog.String("server.address", request.URL.Hostname())}
	if err == nil {
		about = append(about, slog.Int("http.response.status_code", response.StatusCode))
	}
	span.End(err != nil || response.StatusCode >= http.StatusBadRequest, about...)
	return response, err
}
