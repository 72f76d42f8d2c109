package access

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"strings"
	"testing"
	"time"

	"attestry/config"
	"attestry/evidence"
)

func TestCertificatesAuthenticateTheServiceAccountsOfTheirNames(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	gate := &Gate{Identities: newIdentities(t), Clock: func() time.Time { return now }, Certificates: config.ClientAccounts{
		"cluster": {Org: "acme", Name: "prod"}, "gatekeeper.svc": {Org: "acme", Name: "gatekeeper"},
	}}
	named := func(common string, dns ...string) *x509.Certificate {
		return &x509.Certificate{Subject: pkix.Name{CommonName: common}, DNSNames: dns, NotAfter: now.Add(time.Hour)}
	}
	expired := named("cluster")
	expired.NotAfter = now.Add(-time.Second)
	for name, row := range map[string]struct {
		certificate   *x509.Certificate
		authorization string
		want, refused string
	}{
		"common name":                 {certificate: named("cluster"), want: "prod"},
		"DNS name":                    {certificate: named("", "other.svc", "gatekeeper.svc"), want: "gatekeeper"},
		"common name before DNS name": {certificate: named("cluster", "gatekeeper.svc"), want: "prod"},
		"key before certificate":      {certificate: named("cluster"), authorization: "Bearer one", want: "user one"},
		"wrong key with certificate":  {certificate: named("cluster"), authorization: "Bearer wrong", refused: evidence.InvalidKeyMessage},
		"unknown name":                {certificate: named("stranger"), refused: certificateUnknownMessage},
		"name in another case":        {certificate: named("Cluster"), refused: certificateUnknownMessage},
		"no name":                     {certificate: named(""), refused: certificateUnknownMessage},
		"expired":                     {certificate: expired, refused: certificateExpiredMessage},
		"none":                        {refused: keyMissingMessage},
	} {
		t.Run(name, func(t *testing.T) {
			principal, _, err := gate.Admit(t.Context(),
				Request{Certificate: row.certificate, Authorization: row.authorization, Org: "acme"}, Rule{OfOrg: true, MinRole: evidence.Member})
			account := row.authorization == ""
			if row.refused == "" && (principal.ServiceAccount != account || err != nil || principal.Name != row.want) {
				t.Errorf("it is %q, %v; want %q", principal.Name, err, row.want)
			}
			if row.refused != "" && (evidence.CodeOf(err) != evidence.Unauthorized || !strings.Contains(err.Error(), row.refused)) {
				t.Errorf("it is %q, %v; want %q", principal.Name, err, row.refused)
			}
		})
	}
}
