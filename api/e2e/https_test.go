package e2e_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestServiceAnswersHTTPSWithItsCertificate(t *testing.T) {
	t.Parallel()
	// The certificate of the tests of net/http is for this address.
	borrowed := httptest.NewTLSServer(http.NotFoundHandler())
	defer borrowed.Close()
	pair := borrowed.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	certFile, keyFile := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, keyFile: {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, options{settings: []string{"ATTESTRY_TLS_CERT_FILE=" + certFile, "ATTESTRY_TLS_KEY_FILE=" + keyFile}})
	if !strings.HasPrefix(s.URL, "https://") {
		t.Fatalf("the service is at %s", s.URL)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(borrowed.Certificate())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
	defer client.CloseIdleConnections()
	send := func(method, path string, body []byte) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+adminKey)
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(content)
	}
	if status, body := send(http.MethodPut, "/api/v2/environments/"+s.org, []byte(`{"name":"prod","type":"K8S","description":"`+strings.Repeat("x", 500_000)+`"}`)); status != http.StatusCreated {
		t.Errorf("answered %d %s", status, body)
	}
	// The key is checked, and the connection still works, after a body that is refused unread.
	if status, _ := send(http.MethodPut, "/api/v2/environments/"+s.org, bytes.Repeat([]byte("x"), 2<<20)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body is answered %d", status)
	}
	if status, body := send(http.MethodGet, "/api/v2/environments/"+s.org+"/prod", nil); status != http.StatusOK || !strings.Contains(body, `"prod"`) {
		t.Errorf("answered %d", status)
	}
	if response, err := http.Get("http" + strings.TrimPrefix(s.URL, "https") + "/ready"); err == nil {
		response.Body.Close()
		t.Errorf("without TLS it answers %s", response.Status)
	}
}
