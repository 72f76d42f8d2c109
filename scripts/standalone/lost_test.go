package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"attestry/config"
	"attestry/evidence/evidencetest"
	"attestry/evidence/identity"
	"attestry/process"
	"attestry/storage/tenancy"
)

func TestObjectsWithoutTheirDatabaseAreRefused(t *testing.T) {
	data := t.TempDir()
	file := filepath.Join(data, "objects", "org", "aa", "file")
	evidencetest.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	evidencetest.Must(t, os.WriteFile(file, []byte("evidence"), 0o600))
	refused := newTrial()
	if status := refused.main(t.Context(), []string{"--data", data, "--listen", "127.0.0.1:0"}); status != 1 {
		t.Errorf("exit status %d", status)
	}
	evidencetest.Contains(t, refused.errs.String(),
		file, filepath.Join(data, "documents"), "restore the database from a backup", "--accept-loss")
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
		evidencetest.Must(t, os.Remove(log))
	}
	refused := newTrial()
	if status := refused.main(t.Context(), []string{"--data", data, "--listen", "127.0.0.1:0"}); status != 1 || !strings.Contains(refused.errs.String(), "acknowledged writes are missing") {
		t.Errorf("exit status %d: %s", status, refused.errs)
	}
	t.Run("accepted", func(t *testing.T) { newTrial().serve(t, "--data", data, "--listen", "127.0.0.1:0", "--accept-loss") })
	t.Run("started again", func(t *testing.T) { newTrial().serve(t, "--data", data, "--listen", "127.0.0.1:0") })
	wantAuditedLoss(t, data)
}

// wantAuditedLoss checks that the audit log of the organization of the first start has the loss.
func wantAuditedLoss(t *testing.T, data string) {
	t.Helper()
	docs, err := process.OpenDocuments(t.Context(), config.Database{Engine: config.Pebble, Path: filepath.Join(data, "documents")}, nil)
	evidencetest.Must(t, err)
	defer docs.Close()
	known := tenancy.New(docs, time.Now, slog.New(slog.DiscardHandler))
	defer known.Close()
	org, err := known.Organization(t.Context(), firstOrganization)
	evidencetest.Must(t, err)
	entries, _, err := known.AuditLog(t.Context(), tenancy.AuditQuery{OrgID: org.ID, Search: "acknowledged writes are missing", Order: tenancy.AuditByTime, Limit: 10})
	if err != nil || len(entries) != 1 || entries[0].Subject != identity.AuditDatabase || entries[0].Source != identity.SourceScript {
		t.Errorf("the audit log has %+v (%v)", entries, err)
	}
}

// TestErrorNamesTheMissingMarkerOfADatabase checks that the error is not that of a missing database.
func TestErrorNamesTheMissingMarkerOfADatabase(t *testing.T) {
	data := t.TempDir()
	t.Run("first start", func(t *testing.T) { newTrial().serve(t, "--data", data, "--listen", "127.0.0.1:0") })
	markers, err := filepath.Glob(filepath.Join(data, "documents", "marker.manifest.*"))
	if err != nil || len(markers) != 1 {
		t.Fatal(markers, err)
	}
	evidencetest.Must(t, os.Remove(markers[0]))
	evidencetest.Must(t, os.MkdirAll(filepath.Join(data, "objects", "org"), 0o700))
	evidencetest.Must(t, os.WriteFile(filepath.Join(data, "objects", "org", "file"), []byte("evidence"), 0o600))
	refused := newTrial()
	status := refused.main(t.Context(), []string{"--data", data, "--listen", "127.0.0.1:0"})
	if errs := refused.errs.String(); status != 1 || !strings.Contains(errs, "marker.manifest") || !strings.Contains(errs, "restore it from a backup") {
		t.Errorf("exit status %d: %s", status, errs)
	}
}
