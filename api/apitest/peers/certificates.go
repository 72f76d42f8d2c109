package peers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// ServerCertificate writes the certificate of httptest for loopback addresses and its key to files.
func ServerCertificate(t *testing.T) (certFile, keyFile string, trusted *x509.CertPool) {
	t.Helper()
	borrowed := httptest.NewTLSServer(http.NotFoundHandler())
	defer borrowed.Close()
	trusted = x509.NewCertPool()
	trusted.AddCert(borrowed.Certificate())
	certFile, keyFile = WriteCertificate(t, borrowed.TLS.Certificates[0])
	return certFile, keyFile, trusted
}

// Authority signs certificates.
type Authority struct {
	Key         *ecdsa.PrivateKey
	Certificate *x509.Certificate
}

// NewAuthority makes an authority.
func NewAuthority(t *testing.T) *Authority {
	t.Helper()
	a := &Authority{}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true}
	pair := a.issue(t, template)
	a.Key, a.Certificate = pair.PrivateKey.(*ecdsa.PrivateKey), pair.Leaf
	return a
}

// issue makes a certificate that is valid for another hour. The first certificate of an authority is self-signed.
func (a *Authority) issue(t *testing.T, template *x509.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(1), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.Certificate, a.Key
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

// Client issues a client certificate.
func (a *Authority) Client(t *testing.T, name string, dns ...string) tls.Certificate {
	return a.issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: name}, DNSNames: dns, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
}

// WriteCertificate writes a certificate and its key to files.
func WriteCertificate(t *testing.T, pair tls.Certificate) (certFile, keyFile string) {
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
