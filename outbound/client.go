// Package outbound makes the HTTP clients for all URLs that users choose, such as identity providers. They protect this
// machine and its network against SSRF.
package outbound

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"attestry/trace"
)

const (
	// MaxAnswer bounds the headers of a response, and also its body, in bytes.
	MaxAnswer = 64 << 10
	// timeLimit bounds the time of a call, including the body of the response.
	timeLimit = 10 * time.Second
	// idleTime is how long an idle connection is kept, such as between a discovery document and its keys.
	idleTime = 10 * time.Second
)

// Options are the networks and certificates that clients accept.
type Options struct {
	// Allowed are private or reserved networks that may be called. IPv4 networks must be in IPv4 form.
	Allowed []netip.Prefix
	// RootCAs sign the certificates of servers, nil for the system's.
	RootCAs *x509.CertPool
	// Resolver resolves names, nil for the system's.
	Resolver *net.Resolver
}

// NewClient makes a client that connects only to addresses that are public or allowed. It checks the resolved address
// when it opens a connection, so DNS rebinding does not help. It refuses hosts that resolvers might parse as an
// address, such as 2130706433 and 0x7f.1, before it resolves them. Prohibited recognizes these refusals. A call ends
// within 10 s. Redirects are not followed: the response with the status 3xx is returned. Reading more than MaxAnswer of
// a body is an error. The client uses no proxy of the environment and keeps no cookies.
func NewClient(options Options) *http.Client {
	transport := &http.Transport{
		DialContext:            newDialer(options).dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: options.RootCAs},
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: MaxAnswer,
		IdleConnTimeout:        idleTime,
	}
	return &http.Client{
		Transport:     limitedTransport{transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       timeLimit,
	}
}

// limitedTransport bounds responses, and makes a span of each call, which it passes to the server in traceparent. The
// span has neither path, query, headers nor bodies, which may have secrets.
type limitedTransport struct{ *http.Transport }

// RoundTrip returns a response whose body fails after MaxAnswer bytes. The span ends when the response begins.
func (t limitedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, span := trace.Start(request.Context(), trace.Client, request.Method)
	if parent := span.Traceparent(); parent != "" {
		request = request.Clone(ctx)
		request.Header.Set("traceparent", parent)
	}
	response, err := t.Transport.RoundTrip(request)
	attributes := []slog.Attr{slog.String("http.request.method", request.Method), slog.String("server.address", request.URL.Hostname())}
	if err == nil {
		attributes = append(attributes, slog.Int("http.response.status_code", response.StatusCode))
		// Unlike io.LimitReader, it returns an error for a longer body.
		response.Body = http.MaxBytesReader(nil, response.Body, MaxAnswer)
	}
	span.End(err != nil || response.StatusCode >= http.StatusBadRequest, attributes...)
	return response, err
}
