package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"attestry/evidence/evidencetest"
	"attestry/evidence/signing"
	"attestry/evidence/translog"
	"attestry/scripts/standalone/instance"
)

func TestSigningKeyIsMadeOnceAndReadableByItsOwnerOnly(t *testing.T) {
	data := filepath.Join(t.TempDir(), "new")
	file, err := instance.KeyFile(data, "signing-key.pem", signing.NewKey)
	evidencetest.Must(t, err)
	info, err := os.Stat(file)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
	first, err := os.ReadFile(file)
	evidencetest.Must(t, err)
	if _, err := signing.ParseKey(first); err != nil {
		t.Error(err)
	}
	again, err := instance.KeyFile(data, "signing-key.pem", signing.NewKey)
	if err != nil || again != file {
		t.Errorf("the second start uses %s, %v", again, err)
	}
	if second, err := os.ReadFile(file); err != nil || string(second) != string(first) {
		t.Errorf("the key was made again, %v", err)
	}
	if entries, err := os.ReadDir(data); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

func TestStandaloneSignsWithTheKeyOfItsFolder(t *testing.T) {
	address, data := freeAddress(t), t.TempDir()
	tr := newTrial()
	tr.serve(t, "--listen", address, "--data", data)
	response, err := http.Get("http://" + address + "/api/v2/signing-key")
	evidencetest.Must(t, err)
	defer response.Body.Close()
	var answer struct {
		PublicKey string `json:"public_key"`
	}
	evidencetest.Must(t, json.NewDecoder(response.Body).Decode(&answer))
	content, err := os.ReadFile(filepath.Join(data, "signing-key.pem"))
	evidencetest.Must(t, err)
	if key, err := signing.ParseKey(content); err != nil || key.PublicKey() != answer.PublicKey {
		t.Errorf("the public key is %q, %v", answer.PublicKey, err)
	}
}

func TestStandaloneKeepsLogsWithTheKeyOfItsFolder(t *testing.T) {
	address, data := freeAddress(t), t.TempDir()
	tr := newTrial()
	tr.serve(t, "--listen", address, "--data", data)
	content, err := os.ReadFile(filepath.Join(data, "log.key"))
	evidencetest.Must(t, err)
	keys, err := translog.ParseKeys(content)
	evidencetest.Must(t, err)
	want := keys.Verifiers(address + "/acme")
	// The first start has made entries of the audit log, which are in the transparency log, too.
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/api/v2/log/acme", http.NoBody)
	evidencetest.Must(t, err)
	request.SetBasicAuth(keyShown.FindStringSubmatch(tr.out.String())[1], "")
	var log struct {
		VerifierKeys []string `json:"verifier_keys"`
	}
	for deadline := time.Now().Add(20 * time.Second); len(log.VerifierKeys) == 0; time.Sleep(5 * time.Millisecond) {
		response, err := http.DefaultClient.Do(request)
		evidencetest.Must(t, err)
		err = json.NewDecoder(response.Body).Decode(&log)
		response.Body.Close()
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("there is no log: %v", err)
		}
	}
	if !slices.Equal(log.VerifierKeys, want) {
		t.Errorf("the log is signed by %q, want %q", log.VerifierKeys, want)
	}
}

func TestStandaloneDoesNotStartWithAnInvalidSigningKey(t *testing.T) {
	data := t.TempDir()
	evidencetest.Must(t, os.WriteFile(filepath.Join(data, "signing-key.pem"), []byte("secret"), 0o600))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute) // ends the standalone if it starts nevertheless
	defer stop()
	tr := newTrial()
	if status := tr.main(ctx, []string{"--data", data, "--listen", "127.0.0.1:0"}); status != 1 ||
		!strings.Contains(tr.errs.String(), "signing-key.pem has no private key in PEM form") || strings.Contains(tr.errs.String(), "secret") {
		t.Errorf("exit status %d: %s", status, tr.errs)
	}
}
