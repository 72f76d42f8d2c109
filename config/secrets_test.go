package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"attestry/config"
)

func secretFile(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestEverySecretCanBeInAFile reads each secret from a file, with every line break that editors add at its end.
func TestEverySecretCanBeInAFile(t *testing.T) {
	secrets := map[string]string{
		"ATTESTRY_DATABASE_URL":       "mongodb://app:sesame@db:27017/attestry",
		"ATTESTRY_OBJECTS_URL":        "http://KEY:sesame@minio:9000/bucket",
		"ATTESTRY_REDIS_URL":          "redis://:sesame@redis",
		"ATTESTRY_OIDC_CLIENT_SECRET": "sesame",
		"ATTESTRY_SMTP_PASSWORD":      " sesame ",
	}
	others := map[string]string{
		"ATTESTRY_OIDC_ISSUER": "https://login.example.com", "ATTESTRY_OIDC_CLIENT_ID": "attestry",
		"ATTESTRY_SMTP_HOST": "mail", "ATTESTRY_SMTP_FROM": "attestry@example.com", "ATTESTRY_SMTP_USERNAME": "attestry",
	}
	for _, variable := range config.Table() {
		if _, known := secrets[variable.Name]; variable.Secret != known {
			t.Errorf("%s is a secret: %v", variable.Name, variable.Secret)
		}
		if named := strings.Contains(variable.Meaning, "in a file that "+variable.Name+"_FILE names"); variable.Secret != named {
			t.Errorf("the meaning of %s names its file: %v", variable.Name, named)
		}
	}
	for _, end := range []string{"", "\n", "\r\n"} {
		var given, inFiles []string
		for name, value := range others {
			given = append(given, name+"="+value)
		}
		inFiles = slices.Clone(given)
		for name, value := range secrets {
			given = append(given, name+"="+value)
			inFiles = append(inFiles, name+"_FILE="+secretFile(t, value+end))
		}
		want, wantErr := config.Load(given)
		// Files override the defaults of standalone.
		got, err := config.LoadFrom(config.Sources{Environ: inFiles, Defaults: embedded()})
		if err != nil || wantErr != nil || got.Stores.Database != want.Stores.Database || got.Stores.Objects != want.Stores.Objects ||
			got.Stores.Redis != want.Stores.Redis || got.SignIn != want.SignIn || got.SMTP != want.SMTP {
			t.Errorf("ending in %q: got %v, %v, want %v, %v", end, got, err, want, wantErr)
		}
	}
}

func TestSecretsInFilesArePassedOnAsValues(t *testing.T) {
	sources := config.Sources{Environ: []string{"ATTESTRY_REDIS_URL_FILE=" + secretFile(t, "redis://redis\n")}, Defaults: embedded()}
	if got := sources.Environment(); !slices.Contains(got, "ATTESTRY_REDIS_URL=redis://redis") || strings.Contains(strings.Join(got, " "), "_FILE") {
		t.Errorf("got %v", got)
	}
}

func TestFlagsOverrideFilesOfSecrets(t *testing.T) {
	settings, err := config.LoadFrom(config.Sources{
		Environ:  []string{"ATTESTRY_REDIS_URL_FILE=" + secretFile(t, "redis://one")},
		Flags:    []config.Flag{{Name: "--redis", Variable: "ATTESTRY_REDIS_URL", Value: "redis://other"}},
		Defaults: embedded(),
	})
	if err != nil || settings.Stores.Redis.URL != "redis://other" {
		t.Errorf("got %q, %v", settings.Stores.Redis.URL.Reveal(), err)
	}
}

func TestFilesOfSecretsThatCannotBeUsedAreNamed(t *testing.T) {
	folder, empty, wrong := t.TempDir(), secretFile(t, "\n"), secretFile(t, "sesame")
	missing := filepath.Join(folder, "missing")
	for _, row := range []struct {
		name    string
		changes map[string]string
		want    string
	}{
		{"both", map[string]string{"ATTESTRY_REDIS_URL_FILE": wrong}, "ATTESTRY_REDIS_URL: is given together with ATTESTRY_REDIS_URL_FILE: only one of them can be"},
		{"both, and the file is missing", map[string]string{"ATTESTRY_REDIS_URL_FILE": missing}, "ATTESTRY_REDIS_URL: is given together with ATTESTRY_REDIS_URL_FILE: only one of them can be"},
		{"missing", map[string]string{"ATTESTRY_REDIS_URL": "", "ATTESTRY_REDIS_URL_FILE": missing}, "ATTESTRY_REDIS_URL: cannot be read from the file of ATTESTRY_REDIS_URL_FILE: stat " + missing + ": no such file or directory"},
		{"the secret", map[string]string{"ATTESTRY_REDIS_URL": "", "ATTESTRY_REDIS_URL_FILE": "redis://:sesame@redis"}, "ATTESTRY_REDIS_URL: cannot be read from the file of ATTESTRY_REDIS_URL_FILE: no such file or directory"},
		{"folder", map[string]string{"ATTESTRY_REDIS_URL": "", "ATTESTRY_REDIS_URL_FILE": folder}, "ATTESTRY_REDIS_URL: cannot be read from the file of ATTESTRY_REDIS_URL_FILE: " + folder + " is not a regular file"},
		{"empty", map[string]string{"ATTESTRY_REDIS_URL": "", "ATTESTRY_REDIS_URL_FILE": empty}, "ATTESTRY_REDIS_URL: cannot be read from the file of ATTESTRY_REDIS_URL_FILE: " + empty + " is empty"},
		{"wrong", map[string]string{"ATTESTRY_REDIS_URL": "", "ATTESTRY_REDIS_URL_FILE": wrong}, "ATTESTRY_REDIS_URL: must begin with redis:// or rediss://"},
		{"of no secret", map[string]string{"ATTESTRY_LISTEN_FILE": wrong}, "ATTESTRY_LISTEN_FILE: is not a setting"},
		{"not set", map[string]string{"ATTESTRY_REDIS_URL": "", "ATTESTRY_REDIS_URL_FILE": ""}, "ATTESTRY_REDIS_URL: is required"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := config.Load(environ(row.changes)); err == nil || err.Error() != row.want {
				t.Errorf("got  %v\nwant %s", err, row.want)
			}
		})
	}
}
