package apitest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"attestry/app/evaluation"
)

// authorities is the file of the certificate of httptest, which all services trust.
var authorities string

// writeAuthorities writes that file to a folder. The clients of the tests trust the certificate as well.
func writeAuthorities(folder string) error {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	http.DefaultTransport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: trusted}
	authorities = filepath.Join(folder, "authorities.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return os.WriteFile(authorities, certificate, 0o600)
}

// shared is the service of all tests that do not need one of their own. The first of them starts it.
var shared struct {
	once    sync.Once
	service *Service
	err     error
	data    string
	// organizations is the number of tests that have got organizations of their own.
	organizations atomic.Int64
}

// Share gives a test organizations of its own on the shared service. It is for tests that neither advance the clock nor
// check what all organizations share: the log, the metrics, the number of commands. Where the tests are run on real
// engines, it skips them.
func Share(t *testing.T) *Service {
	t.Helper()
	SkipOnRealEngines(t)
	return ShareOnAnyEngine(t)
}

// ShareOnAnyEngine is Share for tests that are run on real engines too.
func ShareOnAnyEngine(t *testing.T) *Service {
	t.Helper()
	shared.once.Do(startShared)
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	s := shared.service.In(t)
	number := shared.organizations.Add(1)
	s.Org, s.Public = fmt.Sprint("acme-", number), fmt.Sprint("open-", number)
	s.Must(s.CreateOrganizations(t.Context()))
	return s
}

func startShared() {
	if shared.data, shared.err = os.MkdirTemp("", "attestry-api-"); shared.err != nil {
		return
	}
	if shared.service, shared.err = Launch(context.Background(), Options{Real: true, Data: shared.data}); shared.err == nil {
		shared.service.Clock.shared = true
	}
}

func stopShared() error {
	defer os.RemoveAll(shared.data)
	if shared.service == nil {
		return nil
	}
	return shared.service.stop()
}

// RunTests runs the tests of a package, as its TestMain.
func RunTests(m *testing.M) {
	evaluation.ServeChild()
	if os.Getenv(dyingWorker) != "" {
		work()
		return
	}
	flag.Parse()
	folder, err := os.MkdirTemp("", "attestry-api-")
	if err == nil {
		err = writeAuthorities(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "prepare the tests:", err)
		os.Exit(1)
	}
	if OnRealEngines() {
		// Tests share the Redis and a MongoDB-compatible server that is slow.
		flag.Set("test.parallel", "1")
	}
	code := m.Run()
	os.RemoveAll(folder)
	if err := stopShared(); err != nil {
		fmt.Fprintln(os.Stderr, "the shared service:", err)
		code = 1
	}
	os.Exit(code)
}
