package config_test

import (
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"attestry/config"
	"attestry/evidence/evidencetest"
)

func TestWrongCertificatesAreFaults(t *testing.T) {
	required := []string{"ATTESTRY_DATABASE_URL=pebble:///tmp/x", "ATTESTRY_OBJECTS_URL=file:///tmp/x", "ATTESTRY_REDIS_URL=redis://localhost"}
	empty := filepath.Join(t.TempDir(), "empty.pem")
	evidencetest.Must(t, os.WriteFile(empty, nil, 0o600))
	for _, one := range []struct {
		name    string
		environ []string
		want    string
	}{
		{"no key", []string{"ATTESTRY_TLS_CERT_FILE=/none/c"}, "ATTESTRY_TLS_KEY_FILE: is required with ATTESTRY_TLS_CERT_FILE"},
		{"no certificate", []string{"ATTESTRY_TLS_KEY_FILE=/none/k"}, "ATTESTRY_TLS_CERT_FILE: is required with ATTESTRY_TLS_KEY_FILE"},
		{"authorities without HTTPS", []string{"ATTESTRY_TLS_CLIENT_CA_FILE=/none/a", "ATTESTRY_TLS_CLIENT_ACCOUNTS=a=acme/b"},
			"ATTESTRY_TLS_CERT_FILE: is required with ATTESTRY_TLS_CLIENT_CA_FILE"},
		{"authorities alone", []string{"ATTESTRY_TLS_CLIENT_CA_FILE=/none/a"}, "ATTESTRY_TLS_CLIENT_ACCOUNTS: is required with ATTESTRY_TLS_CLIENT_CA_FILE"},
		{"accounts alone", []string{"ATTESTRY_TLS_CLIENT_ACCOUNTS=a=acme/b"}, "ATTESTRY_TLS_CLIENT_CA_FILE: is required with ATTESTRY_TLS_CLIENT_ACCOUNTS"},
		{"an account twice", []string{"ATTESTRY_TLS_CLIENT_ACCOUNTS=a=acme/b,a=acme/c"}, "ATTESTRY_TLS_CLIENT_ACCOUNTS: names the certificate a twice"},
		{"an account without organization", []string{"ATTESTRY_TLS_CLIENT_ACCOUNTS=a=b"}, `ATTESTRY_TLS_CLIENT_ACCOUNTS: has "a=b", which is not like certificate=organization/account`},
		{"no certificate name", []string{"ATTESTRY_TLS_CLIENT_ACCOUNTS==acme/b"}, "ATTESTRY_TLS_CLIENT_ACCOUNTS: has "},
		{"authorities that are none", []string{"ATTESTRY_TLS_CERT_FILE=/none/c", "ATTESTRY_TLS_KEY_FILE=/none/k", "ATTESTRY_TLS_CLIENT_CA_FILE=" + empty,
			"ATTESTRY_TLS_CLIENT_ACCOUNTS=a=acme/b"}, "ATTESTRY_TLS_CLIENT_CA_FILE: has no certificate in PEM"},
		{"an unreadable certificate alone", []string{"ATTESTRY_TLS_CERT_FILE=/none/c"}, "ATTESTRY_TLS_CERT_FILE: cannot be read: "},
		{"unreadable authorities alone", []string{"ATTESTRY_TLS_CLIENT_CA_FILE=/none/a"}, "ATTESTRY_TLS_CLIENT_CA_FILE: cannot be read: "},
		{"no files", []string{"ATTESTRY_TLS_CERT_FILE=/none/c", "ATTESTRY_TLS_KEY_FILE=/none/k"}, "ATTESTRY_TLS_CERT_FILE: cannot be read: "},
	} {
		t.Run(one.name, func(t *testing.T) {
			_, err := config.LoadFrom(config.Sources{Environ: append(required, one.environ...), CheckFiles: true})
			if err == nil || !strings.Contains(err.Error(), one.want) {
				t.Errorf("%v", err)
			}
		})
	}
	settings, err := config.Load(append(required, "ATTESTRY_TLS_CERT_FILE=/none/c", "ATTESTRY_TLS_KEY_FILE=/none/k", "ATTESTRY_LISTEN=0.0.0.0:8443"))
	if err != nil || settings.HTTP.BaseURL != "https://localhost:8443" {
		t.Errorf("the base URL is %s, %v", settings.HTTP.BaseURL, err)
	}
}

func TestWrongAuthoritiesAreFaults(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	folder := t.TempDir()
	for content, want := range map[string]string{
		"":          "has no certificate in PEM",
		"nonsense":  "has no certificate in PEM",
		certificate: "",
		"# first\n" + certificate + "# second\n" + certificate:                         "",
		strings.Replace(certificate, "M", "*", 1):                                      "has no certificate in PEM",
		certificate + strings.Replace(certificate, "M", "*", 1):                        "has 2 blocks of PEM, of which 1 are damaged",
		certificate + "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n": "has a certificate that cannot be read, after 1 others: ",
		"-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n":               "has a block PRIVATE KEY, which is no certificate",
	} {
		file := filepath.Join(folder, "ca.pem")
		evidencetest.Must(t, os.WriteFile(file, []byte(content), 0o600))
		environ := environ(map[string]string{"ATTESTRY_CA_FILE": file})
		settings, err := config.LoadFrom(config.Sources{Environ: environ, CheckFiles: true})
		roots, rootsErr := config.RootsOf(environ)
		switch {
		case want == "" && err == nil && rootsErr == nil:
			if system, err := x509.SystemCertPool(); err != nil || roots.Equal(system) || settings.Process.CAFile != file {
				t.Errorf("%q adds nothing to the authorities of the system: %v", content, err)
			}
		case want == "" || err == nil || rootsErr == nil:
			t.Errorf("%q: %v, %v", content, err, rootsErr)
		case !strings.HasPrefix(err.Error(), "ATTESTRY_CA_FILE: "+file+" "+want) || err.Error() != rootsErr.Error():
			t.Errorf("%q: %v, %v", content, err, rootsErr)
		}
	}
	for file, want := range map[string]string{folder: "is a folder", filepath.Join(folder, "none"): "no such file"} {
		_, err := config.LoadFrom(config.Sources{Environ: environ(map[string]string{"ATTESTRY_CA_FILE": file}), CheckFiles: true})
		if err == nil || !strings.HasPrefix(err.Error(), "ATTESTRY_CA_FILE: cannot be read: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
}
