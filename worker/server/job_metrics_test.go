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
	"attestry/evidence/job"
	"attestry/evidence/notification"
	"attestry/process"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/storagetest"
)

// TestJobsAreCountedWithAConstantNumberOfCommands has deliveries in all states.
func TestJobsAreCountedWithAConstantNumberOfCommands(t *testing.T) {
	counting := storagetest.NewCountingDocuments(pebbletest.Open(t, filepath.Join(t.TempDir(), "documents"), app.Schemas()))
	store := app.NewStore(counting, nil, time.Now, slog.New(slog.DiscardHandler))
	t.Cleanup(store.Tenancy.Close)
	p := &process.Process{Store: store, Clock: time.Now, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()}
	registerJobCollector(p)
	target := notification.Target{Type: notification.Webhook, Webhook: "https://a.example.com"}
	for i := range 8 {
		d := notification.NewDelivery("org", 1, &target, notification.Notice{ID: fmt.Sprint(i)}, 1, 0)
		if i >= 4 {
			d.Begin(1)
		}
		switch i {
		case 5, 6:
			d.End(d.Until, notification.Attempt{At: 1, Reason: "refused"}, 0)
		case 7:
			d.Park(2, "refused")
		}
		evidencetest.Must(t, store.Deliveries.Add(t.Context(), []notification.Delivery{d}))
	}
	counting.Reset()
	families, err := p.Metrics.Gather()
	evidencetest.Must(t, err)
	costs := counting.Snapshot()
	if commands := costs.Commands(); commands > 4*4 {
		t.Errorf("a scrape costs %d commands", commands)
	}
	got := map[string]float64{}
	for _, metric := range families[0].GetMetric() {
		got[metric.GetLabel()[0].GetValue()+" "+metric.GetLabel()[1].GetValue()] = metric.GetGauge().GetValue()
	}
	for stage, want := range map[job.Stage]float64{job.Waiting: 4, job.Leased: 1, job.Failed: 2, job.Parked: 1} {
		if got[job.Send.Name+" "+string(stage)] != want || len(got) != 16 {
			t.Errorf("%s: counted %v", stage, got)
		}
	}
}
