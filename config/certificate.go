package config

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"

	"attestry/evidence"
)

const (
	tlsCertFile     = prefix + "TLS_CERT_FILE"
	tlsKeyFile      = prefix + "TLS_KEY_FILE"
	tlsClientCAFile = prefix + "TLS_CLIENT_CA_FILE"
)

// HTTPS reports whether the API is served over HTTPS.
func (h *HTTP) HTTPS() bool { return h.TLSCertFile != "" }

// TLSFiles returns the paths of the files that TLS reads.
func (h *HTTP) TLSFiles() []string { return []string{h.TLSCertFile, h.TLSKeyFile, h.TLSClientCAFile} }

// TLS reads the files and returns the TLS configuration of the API.
func (h *HTTP) TLS() (*tls.Config, error) {
	certificate, err := tls.LoadX509KeyPair(h.TLSCertFile, h.TLSKeyFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tlsCertFile, err)
	}
	settings := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}, NextProtos: []string{"http/1.1"}}
	if h.TLSClientCAFile != "" {
		settings.ClientAuth = tls.VerifyClientCertIfGiven
		if settings.ClientCAs, err = readAuthorities(h.TLSClientCAFile); err != nil {
			return nil, fmt.Errorf("%s: %w", tlsClientCAFile, err)
		}
	}
	return settings, nil
}

func readAuthorities(file string) (*x509.CertPool, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(content) {
		return nil, errors.New("has no certificate in PEM")
	}
	return authorities, nil
}

// URL returns the URL of the API at an address for a browser on the same machine.
func (h *HTTP) URL(at Address) BaseURL {
	if rest, ok := strings.CutPrefix(string(at.URL()), "http://"); ok && h.HTTPS() {
		return BaseURL("https://" + rest)
	}
	return at.URL()
}

// ClientAccounts maps a name in a client certificate to the service account that it authenticates.
type ClientAccounts map[string]ClientAccount

// ClientAccount is a service account by the names of it and of its organization.
type ClientAccount struct{ Org, Name string }

// UnmarshalText reads a list such as "gatekeeper.example=acme/gatekeeper".
func (c *ClientAccounts) UnmarshalText(text []byte) error {
	accounts := ClientAccounts{}
	for entry := range strings.SplitSeq(string(text), ",") {
		subject, account, _ := strings.Cut(strings.TrimSpace(entry), "=")
		org, name, _ := strings.Cut(account, "/")
		if _, double := accounts[subject]; double {
			return fmt.Errorf("names the certificate %s twice", subject)
		}
		if subject == "" || name == "" || strings.Contains(name, "/") || evidence.CheckOrganizationName(org) != nil {
			return fmt.Errorf("has %q, which is not like certificate=organization/account", entry)
		}
		accounts[subject] = ClientAccount{Org: org, Name: name}
	}
	*c = accounts
	return nil
}

func (l *loader) checkCertificate(h *HTTP) {
	if !l.sources.CheckFiles {
		return
	}
	l.checkFile(tlsCertFile, h.TLSCertFile)
	l.checkFile(tlsKeyFile, h.TLSKeyFile)
	l.checkFile(tlsClientCAFile, h.TLSClientCAFile)
	if _, err := tls.LoadX509KeyPair(h.TLSCertFile, h.TLSKeyFile); err != nil && h.HTTPS() && !l.hasFault(tlsKeyFile) {
		l.fault(tlsCertFile, "is no certificate with the key of %s: %v", tlsKeyFile, err)
	}
	if _, err := readAuthorities(h.TLSClientCAFile); err != nil && h.TLSClientCAFile != "" {
		l.fault(tlsClientCAFile, "%v", err)
	}
}

const caFile = prefix + "CA_FILE"

// Roots returns the root certificates for connections to other servers: those of the system and of the file. It returns
// nil, which means those of the system, if no file is set.
func (p *Process) Roots() (*x509.CertPool, error) { return readKey(caFile, p.CAFile, parseRoots) }

// RootsOf is Roots for commands that need no other setting. environ has the form of os.Environ.
func RootsOf(environ []string) (*x509.CertPool, error) {
	settings := Process{CAFile: attestryVariables(environ)[caFile]}
	return settings.Roots()
}

// parseRoots adds certificates in PEM to those of the system. It refuses a file with other or damaged blocks: if it
// skipped one, the error would come later, from the server whose authority is missing.
func parseRoots(content []byte) (*x509.CertPool, error) {
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("cannot be added to the authorities of the system: %w", err)
	}
	read := 0
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("has a block %s, which is no certificate", block.Type)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("has a certificate that cannot be read, after %d others: %w", read, err)
		}
		roots.AddCert(certificate)
		read++
	}
	if read == 0 {
		return nil, errors.New("has no certificate in PEM")
	}
	if begun := bytes.Count(content, []byte("-----BEGIN ")); begun > read {
		return nil, fmt.Errorf("has %d blocks of PEM, of which %d are damaged", begun, begun-read)
	}
	return roots, nil
}
