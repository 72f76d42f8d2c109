package config_test

import (
	"strings"
	"testing"

	"attestry/config"
)

func TestWrongCertificatesAreFaults(t *testing.T) {
	required := []string{"ATTESTRY_DATABASE_URL=pebble:///tmp/x", "ATTESTRY_OBJECTS_URL=file:///tmp/x", "ATTESTRY_REDIS_URL=redis://localhost"}
	for _, one := range []struct {
		name    string
		environ []string
		want    string
	}{
		{"no key", []string{"ATTESTRY_TLS_CERT_FILE=/none/c"}, "ATTESTRY_TLS_KEY_FILE: is required with ATTESTRY_TLS_CERT_FILE"},
		{"no certificate", []string{"ATTESTRY_TLS_KEY_FILE=/none/k"}, "ATTESTRY_TLS_CERT_FILE: is required with ATTESTRY_TLS_KEY_FILE"},
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
