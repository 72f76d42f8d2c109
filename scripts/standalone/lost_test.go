package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestObjectsWithoutTheirDatabaseAreRefused(t *testing.T) {
	data := t.TempDir()
	file := filepath.Join(data, "objects", "org", "aa", "file")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("evidence"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := newTrial()
	if status := refused.main(t.Context(), []string{"--data", data, "--listen", "127.0.0.1:0"}); status != 1 {
		t.Errorf("exit status %d", status)
	}
	for _, want := range []string{file, filepath.Join(data, "documents"), "restore the database from a backup", "--accept-loss"} {
		if !strings.Contains(refused.errs.String(), want) {
			t.Errorf("nothing of %s in %s", want, refused.errs)
		}
	}
	if _, err := os.Stat(filepath.Join(data, "documents")); !os.IsNotExist(err) {
		t.Errorf("a database was made: %v", err)
	}
	newTrial().serve(t, "--data", data, "--listen", "127.0.0.1:0", "--accept-loss")
}

func TestDamagedDatabaseIsStartedOnlyWhenTheLossIsAccepted(t *testing.T) {
	data := t.TempDir()
	t.Run("first start", func(t *testing.T) { newTrial().serve(t, "--data", data, "--listen", "127.0.0.1:0") })
	logs, err := filepath.Glob(filepath.Join(data, "documents", "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	for _, log := range logs {
		if err := os.Remove(log); err != nil {
			t.Fatal(err)
		}
	}
	refused := newTrial()
	if status := refused.main(t.Context(), []string{"--data", data, "--listen", "127.0.0.1:0"}); status != 1 || !strings.Contains(refused.errs.String(), "acknowledged writes are missing") {
		t.Errorf("exit status %d: %s", status, refused.errs)
	}
	t.Run("accepted", func(t *testing.T) { newTrial().serve(t, "--data", data, "--listen", "127.0.0.1:0", "--accept-loss") })
	newTrial().serve(t, "--data", data, "--listen", "127.0.0.1:0") // what was lost is not missed any more
}
