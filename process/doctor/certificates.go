package doctor

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"attestry/config"
	"attestry/storage"
)

// examineCertificates finds unusable files of HTTPS, and certificates in them that expire soon: those of the API with
// its chain, and those of the authorities of clients. The service reads the files again when they change.
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

// readCertificates reads the certificates of a PEM file, none if the path is "".
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

// examineSettings finds settings that contradict each other or the stored data.
func examineSettings(ctx context.Context, s *Subject) (found []Finding, err error) {
	of := &s.Settings
	for _, one := range []struct {
		found            bool
		measured, advice string
	}{
		{of.Stores.Database.Engine == config.Pebble && len(of.Worker.Queues) < len(config.QueueNames),
			"ATTESTRY_QUEUES leaves out queues that with Pebble no other process serves", "serve all queues"},
		{len(of.Log.Witnesses) > 0 && of.Log.KeyFile == "",
			"ATTESTRY_LOG_WITNESSES names witnesses, and without ATTESTRY_LOG_KEY_FILE nothing is logged", "set both or neither"},
		{of.SignIn.Issuer != "" && !bool(of.HTTP.Web),
			"ATTESTRY_OIDC_ISSUER signs people in to pages that ATTESTRY_WEB leaves out", "switch the pages on, or leave the issuer out"},
		{of.HTTP.HTTPS() && strings.HasPrefix(string(of.HTTP.BaseURL), "http://"),
			"ATTESTRY_BASE_URL begins with http://, and the API is served over HTTPS", "begin it with https://"},
		{of.Retention.Mode == config.Compliance && !of.Retention.On(),
			"ATTESTRY_RETENTION_MODE is set, and no days of retention are", "set ATTESTRY_RETENTION_DAYS, or no mode"},
	} {
		if one.found {
			found = append(found, warning(one.advice, "%s", one.measured))
		}
	}
	for name := range of.Retention.Organizations {
		if _, err := s.Store.Tenancy.Organization(ctx, name); errors.Is(err, storage.ErrNotFound) {
			found = append(found, warning("correct the name", "ATTESTRY_RETENTION_ORGANIZATIONS has %s, and no organization is called so", name))
		} else if err != nil {
			return nil, err
		}
	}
	return orOK(found, "none contradicts another"), nil
}
