package e2e_test

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// serverCertificate writes the certificate of httptest for loopback addresses and its key to files.
func serverCertificate(t *testing.T) (certFile, keyFile string, trusted *x509.CertPool) {
	t.Helper()
	borrowed := httptest.NewTLSServer(http.NotFoundHandler())
	defer borrowed.Close()
	trusted = x509.NewCertPool()
	trusted.AddCert(borrowed.Certificate())
	certFile, keyFile = write(t, borrowed.TLS.Certificates[0])
	return certFile, keyFile, trusted
}

func TestServiceAnswersHTTPSWithItsCertificate(t *testing.T) {
	t.Parallel()
	certFile, keyFile, trusted := serverCertificate(t)
	s := start(t, options{settings: []string{"ATTESTRY_TLS_CERT_FILE=" + certFile, "ATTESTRY_TLS_KEY_FILE=" + keyFile}})
	if !strings.HasPrefix(s.URL, "https://") {
		t.Fatalf("the service is at %s", s.URL)
	}
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
	// The connection still works after a body that is refused unread.
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

// authority signs certificates.
type authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true}
	pair := a.issue(t, template)
	a.key, a.certificate = pair.PrivateKey.(*ecdsa.PrivateKey), pair.Leaf
	return a
}

// issue makes a certificate that is valid for another hour. The first certificate of an authority is self-signed.
func (a *authority) issue(t *testing.T, template *x509.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(1), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = template, key
	}
	content, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(content)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{content}, PrivateKey: key, Leaf: leaf}
}

// client issues a client certificate.
func (a *authority) client(t *testing.T, name string, dns ...string) tls.Certificate {
	return a.issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: name}, DNSNames: dns, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
}

// write writes a certificate and its key to files.
func write(t *testing.T, pair tls.Certificate) (certFile, keyFile string) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	certFile, keyFile = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, keyFile: {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func TestClientCertificatesAuthenticateServiceAccounts(t *testing.T) {
	t.Parallel()
	ours := newAuthority(t)
	certFile, keyFile, trusted := serverCertificate(t)
	caFile, _ := write(t, tls.Certificate{Certificate: [][]byte{ours.certificate.Raw}, PrivateKey: ours.key})
	s := start(t, options{settings: []string{
		"ATTESTRY_TLS_CERT_FILE=" + certFile, "ATTESTRY_TLS_KEY_FILE=" + keyFile, "ATTESTRY_TLS_CLIENT_CA_FILE=" + caFile,
		"ATTESTRY_TLS_CLIENT_ACCOUNTS=cluster=acme/prod, gatekeeper.svc=acme/gatekeeper,later=acme/later",
	}})
	send := func(shown []tls.Certificate, headers map[string]string, method, path, body string) (int, string) {
		t.Helper()
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, Certificates: shown}}}
		defer client.CloseIdleConnections()
		request, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/api/v2/"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range headers {
			request.Header.Set(name, value)
		}
		response, err := client.Do(request)
		if err != nil {
			return 0, err.Error()
		}
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(content)
	}
	admin := map[string]string{"Authorization": "Bearer " + adminKey}
	for _, account := range []string{"prod", "gatekeeper"} {
		if status, body := send(nil, admin, http.MethodPost, "service-accounts/"+s.org, `{"name":"`+account+`","privilege":"reader"}`); status != http.StatusCreated {
			t.Fatalf("made %s: %d %s", account, status, body)
		}
	}
	cluster, environments := []tls.Certificate{ours.client(t, "cluster")}, "environments/"+s.org
	for name, row := range map[string]struct {
		shown   []tls.Certificate
		headers map[string]string
		method  string
		path    string
		status  int
		text    string
	}{
		"a certificate":                    {shown: cluster, path: environments, status: http.StatusOK},
		"a certificate with a DNS name":    {shown: []tls.Certificate{ours.client(t, "", "gatekeeper.svc")}, path: environments, status: http.StatusOK},
		"beyond the role":                  {shown: cluster, method: http.MethodPut, path: environments, status: http.StatusForbidden, text: "permission"},
		"another organization":             {shown: cluster, path: "environments/elsewhere", status: http.StatusForbidden, text: "Access denied"},
		"a certificate of no account":      {shown: []tls.Certificate{ours.client(t, "stranger")}, path: environments, status: http.StatusUnauthorized, text: "no service account"},
		"an account that does not exist":   {shown: []tls.Certificate{ours.client(t, "later")}, path: environments, status: http.StatusUnauthorized, text: "does not exist"},
		"a key beside it":                  {shown: []tls.Certificate{ours.client(t, "stranger")}, headers: admin, path: environments, status: http.StatusOK},
		"a wrong key beside it":            {shown: cluster, headers: map[string]string{"Authorization": "Bearer wrong"}, path: environments, status: http.StatusUnauthorized},
		"a request of a foreign page":      {shown: cluster, headers: map[string]string{"Origin": "https://evil.example"}, path: environments, status: http.StatusUnauthorized, text: "API key is required"},
		"none":                             {path: environments, status: http.StatusUnauthorized, text: "API key is required"},
		"a certificate of other authority": {shown: []tls.Certificate{newAuthority(t).client(t, "cluster")}, path: environments, status: 0, text: "tls: "},
	} {
		t.Run(name, func(t *testing.T) {
			method := cmp.Or(row.method, http.MethodGet)
			if status, body := send(row.shown, row.headers, method, row.path, `{"name":"x","type":"K8S"}`); status != row.status || !strings.Contains(body, row.text) {
				t.Errorf("answered %d %s", status, body)
			}
		})
	}
	if status, body := send(nil, admin, http.MethodDelete, "service-accounts/"+s.org+"/prod", ""); status >= 300 {
		t.Fatalf("deleted: %d %s", status, body)
	}
	if status, body := send(cluster, nil, http.MethodGet, environments, ""); status != http.StatusUnauthorized {
		t.Errorf("after the account was deleted it answers %d %s", status, body)
	}
}
