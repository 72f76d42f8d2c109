package server

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"attestry/app"
	"attestry/evidence/evidencetest"
	"attestry/evidence/identity"
	"attestry/process"
	"attestry/storage/filesystem"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/storagetest"
	"attestry/tasks/reports"
)

// TestIdleOrganizationsCostNoWrites counts the writes of periodic jobs for organizations without reports. Each job only
// renews its own lease.
func TestIdleOrganizationsCostNoWrites(t *testing.T) {
	organizations := 5_000
	if testing.Short() {
		organizations = 200
	}
	folder := t.TempDir()
	counting := storagetest.NewCountingDocuments(pebbletest.Open(t, filepath.Join(folder, "documents"), app.Schemas()))
	objects, err := filesystem.Open(filepath.Join(folder, "objects"))
	evidencetest.Must(t, err)
	now := noted
	clock := func() time.Time { return at(now)() }
	store := app.NewStore(counting, objects, clock, slog.New(slog.DiscardHandler))
	t.Cleanup(store.Tenancy.Close)
	var declared identity.Bootstrap
	for i := range organizations {
		declared.Organizations = append(declared.Organizations, identity.DeclaredOrganization{Name: fmt.Sprint("org-", i)})
	}
	if _, err := store.Tenancy.ApplyBootstrap(t.Context(), declared); err != nil {
		t.Fatal(err)
	}
	r := newReconciler(&process.Process{
		Store: store, Clock: clock, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	sweeper := reports.NewSweeper(store, nil, clock, slog.New(slog.DiscardHandler))
	for round := range 3 {
		now += 1_000
		counting.Reset()
		evidencetest.Must(t, r.reconcile(t.Context()))
		evidencetest.Must(t, sweeper.Sweep(t.Context()))
		costs := counting.Snapshot()
		if costs.Writes > 2 {
			t.Errorf("round %d: %d writes of %d organizations: %+v", round, costs.Writes, organizations, costs)
		}
		if commands := costs.Commands(); commands < organizations {
			t.Errorf("round %d: %d commands for %d organizations: not all were checked", round, commands, organizations)
		}
	}
}
