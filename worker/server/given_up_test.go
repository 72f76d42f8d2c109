package server

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/snapshot"
	"attestry/process"
	"attestry/storage/environments"
	"attestry/storage/filesystem"
	"attestry/storage/pebble/pebbletest"
	"attestry/tasks/reports"
)

// noPublisher publishes nothing.
type noPublisher struct{}

func (noPublisher) PublishChange(context.Context, string) {}

func TestParkedReportsAreCountedByReason(t *testing.T) {
	folder := t.TempDir()
	docs := pebbletest.Open(t, filepath.Join(folder, "documents"), app.Schemas())
	objects, err := filesystem.Open(filepath.Join(folder, "objects"))
	evidencetest.Must(t, err)
	log := slog.New(slog.DiscardHandler)
	store := app.NewStore(docs, objects, at(noted), log)
	t.Cleanup(store.Tenancy.Close)
	environment := evidence.Environment{ID: evidence.NewID(), Org: "org", Name: "env", Type: evidence.Server}
	if _, err := store.Environments.Put(t.Context(), environment, evidence.EnvironmentChange{}); err != nil {
		t.Fatal(err)
	}
	damaged := environments.WaitingReport{
		ReportRecord: snapshot.ReportRecord{Org: "org", Environment: environment.ID, Arrival: 1, AcceptedAt: 1, Digest: "x"}, Content: []byte("no zstd"),
	}
	evidencetest.Must(t, store.Reports.Insert(t.Context(), damaged))
	registry := prometheus.NewRegistry()
	countParked := newParkedCounter(&process.Process{Metrics: registry})
	processor := reports.NewProcessor(store, noPublisher{}, at(noted), log, countParked)
	before := givenUpBy(t, registry)
	for range 6 {
		_ = processor.Drain(t.Context(), environment.ID)
	}
	after := givenUpBy(t, registry)
	if len(before) != 7 || before["damaged"] != 0 || len(after) != 7 || after["damaged"] != 1 || after["timeout"] != 0 {
		t.Errorf("counted %v, then %v", before, after)
	}
}

// givenUpBy reads the metric of parked reports by reason.
func givenUpBy(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	evidencetest.Must(t, err)
	counts := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "attestry_reports_given_up_total" {
				counts[metric.GetLabel()[0].GetValue()] = metric.GetCounter().GetValue()
			}
		}
	}
	return counts
}
