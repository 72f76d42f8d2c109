package access

import (
	"context"
	"crypto/x509"

	"attestry/evidence"
)

const (
	certificateUnknownMessage = "The certificate of the client is that of no service account"
	certificateExpiredMessage = "The certificate of the client has expired"
)

// certified returns the service account that a verified certificate speaks for: the one that the operator has named for
// its common name, or else for one of its DNS names.
func (g *Gate) certified(ctx context.Context, certificate *x509.Certificate) (evidence.Principal, error) {
	// A connection can outlive the certificate that it began with.
	if g.Clock().After(certificate.NotAfter) {
		return evidence.Principal{}, evidence.NewError(evidence.Unauthorized, certificateExpiredMessage)
	}
	for _, name := range append([]string{certificate.Subject.CommonName}, certificate.DNSNames...) {
		if account, ok := g.Certificates[name]; ok {
			return g.Keys.AuthenticateAccount(ctx, account.Org, account.Name)
		}
	}
	return evidence.Principal{}, evidence.NewError(evidence.Unauthorized, certificateUnknownMessage)
}
