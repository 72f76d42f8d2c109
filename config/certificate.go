package config

import (
	"crypto/tls"
	"fmt"
	"strings"
)

const (
	tlsCertFile = prefix + "TLS_CERT_FILE"
	tlsKeyFile  = prefix + "TLS_KEY_FILE"
)

// HTTPS reports whether the API is served over HTTPS.
func (h *HTTP) HTTPS() bool { return h.TLSCertFile != "" }

// Certificate reads the certificate that the API is served with, as its files are now.
func (h *HTTP) Certificate() (*tls.Certificate, error) {
	certificate, err := tls.LoadX509KeyPair(h.TLSCertFile, h.TLSKeyFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tlsCertFile, err)
	}
	return &certificate, nil
}

// URL is where a browser on the same machine finds the API at an address.
func (h *HTTP) URL(at Address) BaseURL {
	if rest, ok := strings.CutPrefix(string(at.URL()), "http://"); ok && h.HTTPS() {
		return BaseURL("https://" + rest)
	}
	return at.URL()
}

// checkCertificate finds a certificate without a key, a key without a certificate, and, where files are checked, what is
// wrong with them.
func (l *loader) checkCertificate(h *HTTP) {
	switch {
	case h.TLSCertFile != "" && h.TLSKeyFile == "":
		l.fault(tlsKeyFile, "is required with %s", tlsCertFile)
	case h.TLSCertFile == "" && h.TLSKeyFile != "":
		l.fault(tlsCertFile, "is required with %s", tlsKeyFile)
	case h.HTTPS() && l.sources.CheckFiles:
		l.checkFile(tlsCertFile, h.TLSCertFile)
		l.checkFile(tlsKeyFile, h.TLSKeyFile)
		if _, err := tls.LoadX509KeyPair(h.TLSCertFile, h.TLSKeyFile); err != nil && !l.faulty(tlsKeyFile) {
			l.fault(tlsCertFile, "is no certificate with the key of %s: %v", tlsKeyFile, err)
		}
	}
}
