package process

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"attestry/config"
	"attestry/evidence/evidencetest"
	"attestry/tasks"
)

// ownAuthority starts an S3 server with one empty bucket, whose certificate no system trusts. It returns the roots of a
// process with the certificate in its CA file, and of a process without a CA file.
func ownAuthority(t *testing.T) (server *httptest.Server, with, without *x509.CertPool) {
	t.Helper()
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></LocationConstraint>`)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	evidencetest.Must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	with, err := (&config.Process{CAFile: file}).Roots()
	evidencetest.Must(t, err)
	without, err = (&config.Process{}).Roots()
	if err != nil || without != nil {
		t.Fatalf("without a file there are authorities: %v", err)
	}
	return server, with, without
}

func TestServersOfAPrivateAuthorityAreTrustedOnlyWithTheSetting(t *testing.T) {
	server, with, without := ownAuthority(t)
	encryption := &tls.Config{Certificates: server.TLS.Certificates}
	redis := miniredis.NewMiniRedis()
	evidencetest.Must(t, redis.StartTLS(encryption))
	t.Cleanup(redis.Close)
	for name, call := range map[string]func(context.Context, *x509.CertPool) error{
		"object store": func(ctx context.Context, roots *x509.CertPool) error {
			_, err := OpenObjects(ctx, config.Objects{
				Engine: config.S3, Endpoint: server.Listener.Addr().String(), Secure: true, Bucket: "bucket", AccessKey: "a", SecretKey: "s",
			}, config.Retention{}, roots)
			return err
		},
		"Redis": func(ctx context.Context, roots *x509.CertPool) error {
			client, err := tasks.NewRedis("rediss://"+redis.Addr(), roots)
			if err != nil {
				return err
			}
			return errors.Join(client.Ping(ctx).Err(), client.Close())
		},
		"receiver": func(ctx context.Context, roots *x509.CertPool) error {
			p := &Process{Roots: roots, Settings: config.Settings{Outbound: config.Outbound{Allow: config.OutboundNetworks{netip.MustParsePrefix("127.0.0.1/32")}}}}
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
			if err != nil {
				return err
			}
			response, err := p.OutboundClient().Do(request)
			if err != nil {
				return err
			}
			return response.Body.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := call(ctx, with); err != nil {
				t.Errorf("with the setting: %v", err)
			}
			if err := call(ctx, without); err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
				t.Errorf("without the setting: %v", err)
			}
		})
	}
}

// The server only reads: a client that refuses its certificate sends nothing.
func TestMongoDBOfAPrivateAuthorityIsTrustedOnlyWithTheSetting(t *testing.T) {
	server, with, without := ownAuthority(t)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: server.TLS.Certificates})
	evidencetest.Must(t, err)
	defer listener.Close()
	sent := make(chan struct{}, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func(conn net.Conn) {
				defer conn.Close()
				if _, err := conn.Read(make([]byte, 1)); err == nil {
					sent <- struct{}{}
				}
			}(conn)
		}
	}()
	database := func(options string) config.Database {
		var d config.Database
		evidencetest.Must(t, d.UnmarshalText([]byte("mongodb://"+listener.Addr().String()+"/attestry?tls=true&serverSelectionTimeoutMS=1000"+options)))
		return d
	}
	if _, err := OpenDocuments(t.Context(), database(""), without); err == nil || len(sent) > 0 {
		t.Errorf("without the setting the server was sent something: %v", err)
	}
	if _, err := OpenDocuments(t.Context(), database(""), with); err == nil || len(sent) == 0 {
		t.Errorf("with the setting the server was sent nothing: %v", err)
	}
}
