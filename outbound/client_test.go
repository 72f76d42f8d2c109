package outbound_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"code.dny.dev/ssrf"

	"attestry/evidence/evidencetest"
	"attestry/outbound"
	"attestry/trace"
)

// loopback returns the networks of the test servers.
func loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// serve starts a server and counts its requests.
func serve(t *testing.T, handler http.HandlerFunc) (server *httptest.Server, requests *atomic.Int32) {
	t.Helper()
	requests = &atomic.Int32{}
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	return server, requests
}

func get(t *testing.T, client *http.Client, url string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	evidencetest.Must(t, err)
	return client.Do(request)
}

// read requests a URL and reads the whole body.
func read(t *testing.T, client *http.Client, url string) (status int, body string, err error) {
	t.Helper()
	response, err := get(t, client, url)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

func TestLoopbackIsReachedOnlyIfItIsAllowed(t *testing.T) {
	server, requests := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })
	named := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	mapped := strings.Replace(server.URL, "127.0.0.1", "[::ffff:127.0.0.1]", 1)
	for name, address := range map[string]string{"by address": server.URL, "by name": named, "by IPv4-mapped address": mapped} {
		t.Run(name, func(t *testing.T) {
			before := requests.Load()
			if _, _, err := read(t, outbound.NewClient(outbound.Options{}), address); !errors.Is(err, ssrf.ErrProhibitedIP) {
				t.Errorf("without an allow list: %v", err)
			}
			if requests.Load() != before {
				t.Error("a request that was refused has arrived")
			}
			if _, body, err := read(t, outbound.NewClient(outbound.Options{Allowed: loopback()}), address); err != nil || body != "hello" {
				t.Errorf("with an allow list: %q, %v", body, err)
			}
		})
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	server, requests := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) })
	status, _, err := read(t, outbound.NewClient(outbound.Options{Allowed: loopback()}), server.URL)
	if err != nil || status != http.StatusFound || requests.Load() != 1 {
		t.Errorf("status %d after %d requests, %v", status, requests.Load(), err)
	}
}

func TestAnswersThatAreTooLongAreErrors(t *testing.T) {
	for name, c := range map[string]struct {
		length  int
		tooLong bool
	}{
		"empty":        {0, false},
		"the longest":  {outbound.MaxAnswer, false},
		"one too long": {outbound.MaxAnswer + 1, true},
		"far too long": {10 * outbound.MaxAnswer, true},
	} {
		t.Run(name, func(t *testing.T) {
			server, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(bytes.Repeat([]byte("x"), c.length)) })
			_, body, err := read(t, outbound.NewClient(outbound.Options{Allowed: loopback()}), server.URL)
			if (err != nil) != c.tooLong || len(body) != min(c.length, outbound.MaxAnswer) {
				t.Errorf("read %d bytes, %v", len(body), err)
			}
		})
	}
}

func TestCompressedAnswersAreBoundedByTheirContent(t *testing.T) {
	server, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(compressed(t, 100*outbound.MaxAnswer))
	})
	_, body, err := read(t, outbound.NewClient(outbound.Options{Allowed: loopback()}), server.URL)
	if err == nil || len(body) != outbound.MaxAnswer {
		t.Errorf("read %d bytes, %v", len(body), err)
	}
}

func TestAHeaderThatIsTooLongIsAnError(t *testing.T) {
	server, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 2*outbound.MaxAnswer))
	})
	if status, _, err := read(t, outbound.NewClient(outbound.Options{Allowed: loopback()}), server.URL); err == nil {
		t.Errorf("status %d", status)
	}
}

func TestNoCookiesAreKept(t *testing.T) {
	server, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1"})
		io.WriteString(w, r.Header.Get("Cookie"))
	})
	client := outbound.NewClient(outbound.Options{Allowed: loopback()})
	for range 2 {
		if _, body, err := read(t, client, server.URL); err != nil || body != "" {
			t.Errorf("the server got the cookie %q, %v", body, err)
		}
	}
}

func TestServersNeedACertificateAndModernTLS(t *testing.T) {
	newServer := func(max uint16) *httptest.Server {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
		server.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: max}
		server.EnableHTTP2 = max > tls.VersionTLS11 // HTTP/2 needs TLS 1.2
		server.Config.ErrorLog = discard()
		server.StartTLS()
		t.Cleanup(server.Close)
		return server
	}
	modern, old := newServer(tls.VersionTLS13), newServer(tls.VersionTLS11)
	roots := x509.NewCertPool()
	roots.AddCert(modern.Certificate())
	trusting := outbound.NewClient(outbound.Options{Allowed: loopback(), RootCAs: roots})

	if _, body, err := read(t, trusting, modern.URL); err != nil || body != "HTTP/2.0" {
		t.Errorf("the answer is %q, %v", body, err)
	}
	if _, _, err := read(t, trusting, old.URL); err == nil {
		t.Error("TLS 1.1 is accepted")
	}
	var unknown *tls.CertificateVerificationError
	if _, _, err := read(t, outbound.NewClient(outbound.Options{Allowed: loopback()}), modern.URL); !errors.As(err, &unknown) {
		t.Errorf("with a certificate of an unknown authority: %v", err)
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	server, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	evidencetest.Must(t, err)
	var failed *url.Error
	if _, err := outbound.NewClient(outbound.Options{Allowed: loopback()}).Do(request); !errors.As(err, &failed) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestNoTraceparentIsSentUnlessSpansAreExported(t *testing.T) {
	server, requests := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("traceparent"); got != "" {
			t.Errorf("the server got the traceparent %s", got)
		}
	})
	ctx := trace.With(t.Context(), "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	evidencetest.Must(t, err)
	response, err := outbound.NewClient(outbound.Options{Allowed: loopback()}).Do(request)
	evidencetest.Must(t, err)
	response.Body.Close()
	if requests.Load() != 1 {
		t.Errorf("there were %d requests", requests.Load())
	}
}
