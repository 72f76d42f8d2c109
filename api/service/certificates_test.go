package service

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"attestry/config"
)

// writeCertificate writes a certificate for a name, and its key.
func writeCertificate(t *testing.T, settings config.HTTP, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		settings.TLSCertFile: {Type: "CERTIFICATE", Bytes: certificate}, settings.TLSKeyFile: {Type: "PRIVATE KEY", Bytes: encoded},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func settingsIn(folder string) config.HTTP {
	return config.HTTP{TLSCertFile: filepath.Join(folder, "cert.pem"), TLSKeyFile: filepath.Join(folder, "key.pem")}
}

func TestCertificateIsReloadedWhenItChanges(t *testing.T) {
	settings := settingsIn(t.TempDir())
	writeCertificate(t, settings, "first.example.com")
	var logged bytes.Buffer
	c := &certificates{settings: settings, log: slog.New(slog.NewTextHandler(&logged, nil))}
	if err := c.read(); err != nil {
		t.Fatal(err)
	}
	name := func() string {
		t.Helper()
		c.checkedAt = time.Time{}
		got, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return got.Certificates[0].Leaf.Subject.CommonName
	}
	if got := name(); got != "first.example.com" {
		t.Errorf("it is that of %s", got)
	}
	writeCertificate(t, settings, "the-second.example.com")
	if got := name(); got != "the-second.example.com" {
		t.Errorf("once replaced it is that of %s", got)
	}
	if err := os.WriteFile(settings.TLSKeyFile, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := name(); got != "the-second.example.com" || !bytes.Contains(logged.Bytes(), []byte("cannot be read")) {
		t.Errorf("with a damaged key it is that of %s, and the log has %s", got, &logged)
	}
	name()
	if got := bytes.Count(logged.Bytes(), []byte("cannot be read")); got != 1 {
		t.Errorf("one change is warned of %d times", got)
	}
	writeCertificate(t, settings, "third.example.com")
	if got := name(); got != "third.example.com" {
		t.Errorf("once mended it is that of %s", got)
	}
}

func TestListenerSpeaksHTTPSWithACertificate(t *testing.T) {
	settings := settingsIn(t.TempDir())
	writeCertificate(t, settings, "attestry.example.com")
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := listenTLS(plain, settings, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	served := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_, err = io.WriteString(conn, "hello")
			conn.Close()
		}
		served <- err
	}()
	content, err := os.ReadFile(settings.TLSCertFile)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(content)
	conn, err := tls.Dial("tcp", plain.Addr().String(), &tls.Config{RootCAs: trusted, ServerName: "attestry.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got, err := io.ReadAll(conn); err != nil || string(got) != "hello" || <-served != nil {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestListenerIsUnchangedWithoutACertificate(t *testing.T) {
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if got, err := listenTLS(plain, config.HTTP{}, nil); got != plain || err != nil {
		t.Errorf("it is %v, %v", got, err)
	}
	if _, err := listenTLS(plain, settingsIn(t.TempDir()), nil); err == nil {
		t.Error("missing files are taken")
	}
}
