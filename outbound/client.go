// Package outbound makes the HTTP clients of all calls to addresses that users choose, such as
// identity providers: they must not reach what only this machine or its network may reach.
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
	// MaxAnswer is the longest body of an answer that is read, in bytes.
	MaxAnswer = 64 << 10
	// timeLimit is how long a call may take in all, with the body of its answer.
	timeLimit = 10 * time.Second
	// idleTime is how long a connection is kept, as for keys after a discovery document.
	idleTime = 10 * time.Second
)

// Options are what clients may reach and whom they trust.
type Options struct {
	// Allowed are networks that may be called though private or reserved, IPv4 ones in IPv4 form.
	Allowed []netip.Prefix
	// RootCAs are the authorities that sign the certificates of servers, nil for the system's.
	RootCAs *x509.CertPool
	// Resolver looks up names, nil for the system's.
	Resolver *net.Resolver
}

// NewClient makes a client. A call of it ends within 10 s, and reaches only addresses that are public or allowed: the
// resolved address is checked when a connection is opened, so that no name can hide it. Numbers that systems might take
// for an address, such as 2130706433 and 0x7f.1, are refused before any look-up. Prohibited recognizes the error of
// what is refused. Redirects are not followed: the answer with the status 3xx is returned. Reading more than MaxAnswer
// of a body is an error. The environment's proxy is not used, and no cookies are kept.
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

// limitedTransport makes a span of each call, which the server is told of. The path, the query, the headers and the bodies may
// hold secrets.
type limitedTransport struct{ *http.Transport }

// RoundTrip returns an answer whose body fails behind MaxAnswer bytes. The span ends when the answer begins.
func (t limitedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, span := trace.Start(request.Context(), trace.Client, request.Method)
	if parent := span.Traceparent(); parent != "" {
		request = request.Clone(ctx)
		request.Header.Set("traceparent", parent)
	}
	response, err := t.Transport.RoundTrip(request)
	about := []slog.Attr{slog.String("http.request.method", request.Method), slog.String("server.address", request.URL.Hostname())}
	if err == nil {
		about = append(about, slog.Int("http.response.status_code", response.StatusCode))
		// Unlike io.LimitReader, it fails where the answer is longer.
		response.Body = http.MaxBytesReader(nil, response.Body, MaxAnswer)
	}
	span.End(err != nil || response.StatusCode >= http.StatusBadRequest, about...)
	return response, err
}
