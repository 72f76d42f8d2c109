package doctor

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"strings"
	"time"
)

// examineCertificates finds files of HTTPS that cannot be used, and certificates in them that expire soon: of the API with its
// chain, and of the authorities of clients. The service reads the files again when they change.
func examineCertificates(_ context.Context, s *Subject) (found []Finding, err error) {
	of := &s.Settings.HTTP
	if !of.HTTPS() {
		return nil, nil
	}
	if _, err := of.TLS(); err != nil {
		return nil, err
	}
	for _, file := range []struct{ path, variable, advice string }{
		{of.TLSCertFile, "ATTESTRY_TLS_CERT_FILE", "renew it and replace the file; no restart is needed"},
		{of.TLSClientCAFile, "ATTESTRY_TLS_CLIENT_CA_FILE", "add the certificate that follows it to the file, or remove it if no client needs it; no restart is needed"},
	} {
		certificates, err := readCertificates(file.path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.variable, err)
		}
		for _, certificate := range certificates {
			left := certificate.NotAfter.Sub(s.Clock())
			if left >= expiryNotice {
				continue
			}
			expiring := warning(file.advice, "the certificate %s of %s expires at %s", nameOf(certificate), file.variable, certificate.NotAfter.UTC().Format(time.RFC3339))
			if left <= 0 {
				expiring.State = Error
			}
			found = append(found, expiring)
		}
	}
	return orOK(found, "none expires within 30 days"), nil
}

func nameOf(certificate *x509.Certificate) string {
	return cmp.Or(certificate.Subject.String(), strings.Join(certificate.DNSNames, ","), "with the serial number "+certificate.SerialNumber.String())
}

// readCertificates reads a PEM file, none without a path.
func readCertificates(path string) (certificates []*x509.Certificate, err error) {
	if path == "" {
		return nil, nil
	}
	content, err := os.ReadFile(path)
	for block, rest := pem.Decode(content); err == nil && block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		var certificate *x509.Certificate
		certificate, err = x509.ParseCertificate(block.Bytes)
		certificates = append(certificates, certificate)
	}
	return certificates, err
}
