package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"attestry/config"
	"attestry/evidence/evidencetest"
	"attestry/evidence/signing"
	"attestry/evidence/translog"
)

func TestWrongSigningKeyIsAFaultBesideOthers(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "key.pem")
	good, err := signing.NewKey()
	evidencetest.Must(t, err)
	for name, test := range map[string]struct {
		file, content, want string
	}{
		"none":       {"", "", ""},
		"a good key": {file, string(good), ""},
		"no key":     {file, "c2VjcmV0", "ATTESTRY_SIGNING_KEY_FILE: " + file + " has no private key in PEM form"},
		"damaged":    {file, strings.Replace(string(good), "MI", "NI", 1), "ATTESTRY_SIGNING_KEY_FILE: " + file + " has a damaged key"},
		"absent":     {folder + "/absent", "", "ATTESTRY_SIGNING_KEY_FILE: cannot be read: "},
		"a folder":   {folder, "", "ATTESTRY_SIGNING_KEY_FILE: cannot be read: "},
	} {
		t.Run(name, func(t *testing.T) {
			evidencetest.Must(t, os.WriteFile(file, []byte(test.content), 0o600))
			settings, err := config.LoadFrom(config.Sources{
				Environ: environ(map[string]string{"ATTESTRY_SIGNING_KEY_FILE": test.file, "ATTESTRY_CONCURRENCY": "many"}), CheckFiles: true,
			})
			var faults config.Faults
			if !errors.As(err, &faults) {
				t.Fatalf("%v, %+v", err, settings)
			}
			others := slices.DeleteFunc(slices.Clone(faults), func(fault string) bool { return strings.HasPrefix(fault, "ATTESTRY_SIGNING_KEY_FILE") })
			if len(others) != 1 || (len(faults) == 2) != (test.want != "") || !strings.HasPrefix(faults[0], test.want) {
				t.Errorf("the faults are\n%v", err)
			}
			if strings.Contains(err.Error(), "c2VjcmV0") {
				t.Error("the content of the file is told")
			}
		})
	}
}

func TestKeyGivenInsteadOfItsPathIsNotShown(t *testing.T) {
	_, err := config.LoadFrom(config.Sources{
		Environ: environ(map[string]string{"ATTESTRY_LOG_KEY_FILE": "PRIVATE+KEY+sesame", "ATTESTRY_BOOTSTRAP_FILE": "users: [sesame]"}), CheckFiles: true,
	})
	want := "ATTESTRY_LOG_KEY_FILE: cannot be read: no such file or directory\nATTESTRY_BOOTSTRAP_FILE: cannot be read: no such file or directory"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	log := config.Log{KeyFile: "PRIVATE+KEY+sesame"}
	if _, err := log.Keys(); err == nil || err.Error() != "ATTESTRY_LOG_KEY_FILE: cannot be read: no such file or directory" {
		t.Error(err)
	}
}

func TestSigningKeyIsRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key.pem")
	if key, err := (&config.HTTP{}).SigningKey(); key != nil || err != nil {
		t.Errorf("without a file: %v, %v", key, err)
	}
	set := config.HTTP{SigningKeyFile: file}
	if _, err := set.SigningKey(); err == nil || !strings.HasPrefix(err.Error(), "ATTESTRY_SIGNING_KEY_FILE: cannot be read: ") {
		t.Errorf("without the file: %v", err)
	}
	content, err := signing.NewKey()
	if err == nil {
		err = os.WriteFile(file, content, 0o600)
	}
	evidencetest.Must(t, err)
	if key, err := set.SigningKey(); key == nil || err != nil {
		t.Errorf("with the file: %v, %v", key, err)
	}
}

func TestWrongLogKeyIsAFaultBesideOthers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log.key")
	good, err := translog.NewKeyFile()
	evidencetest.Must(t, err)
	for content, faults := range map[string]int{string(good): 1, "secret": 2, "": 2, string(good) + "secret": 2} {
		evidencetest.Must(t, os.WriteFile(file, []byte(content), 0o600))
		_, err := config.LoadFrom(config.Sources{
			Environ: environ(map[string]string{"ATTESTRY_LOG_KEY_FILE": file, "ATTESTRY_CONCURRENCY": "many"}), CheckFiles: true,
		})
		var found config.Faults
		if !errors.As(err, &found) || len(found) != faults || strings.Contains(err.Error(), "secret") {
			t.Errorf("the file of %d bytes: %v", len(content), err)
		}
		if faults > 1 && !strings.HasPrefix(found[0], "ATTESTRY_LOG_KEY_FILE: "+file+" has ") {
			t.Errorf("the fault is %q", found[0])
		}
	}
}
