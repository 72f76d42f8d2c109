package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"attestry/evidence/signing"
	"attestry/evidence/translog"
	"attestry/scripts/standalone/instance"
)

func TestSigningKeyIsMadeOnceForItsOwnerAlone(t *testing.T) {
	data := filepath.Join(t.TempDir(), "new")
	file, err := instance.KeyFile(data, signingKey, signing.NewKey)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := signing.ParseKey(first); err != nil {
		t.Error(err)
	}
	again, err := instance.KeyFile(data, signingKey, signing.NewKey)
	if err != nil || again != file {
		t.Errorf("the second start takes %s, %v", again, err)
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
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var told struct {
		PublicKey string `json:"public_key"`
	}
	if err := json.NewDecoder(response.Body).Decode(&told); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(data, "signing-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if key, err := signing.ParseKey(content); err != nil || key.PublicKey() != told.PublicKey {
		t.Errorf("it tells %q, %v", told.PublicKey, err)
	}
}

func TestStandaloneKeepsLogsWithTheKeyOfItsFolder(t *testing.T) {
	address, data := freeAddress(t), t.TempDir()
	tr := newTrial()
	tr.serve(t, "--listen", address, "--data", data)
	content, err := os.ReadFile(filepath.Join(data, "log.key"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := translog.ParseKeys(content); err != nil {
		t.Error(err)
	}
}

func TestStandaloneDoesNotStartWithAWrongSigningKey(t *testing.T) {
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "signing-key.pem"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute) // should it start, it ends
	defer stop()
	tr := newTrial()
	if status := tr.main(ctx, []string{"--data", data, "--listen", "127.0.0.1:0"}); status != 1 ||
		!strings.Contains(tr.errs.String(), "signing-key.pem has no private key in PEM form") || strings.Contains(tr.errs.String(), "secret") {
		t.Errorf("exit status %d: %s", status, tr.errs)
	}
}
