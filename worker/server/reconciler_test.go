package server

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"attestry/app"
	"attestry/app/recording"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/identity"
	"attestry/evidence/template"
	"attestry/process"
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/storage/pebble/pebbletest"
)

// noted is when the facts were reported that the killed process has not applied, in Unix seconds.
const noted = 1_790_000_000.0

var errKilled = errors.New("killed")

// killable is an engine of a process that, once killed, writes no more changes of trails and no events.
type killable struct {
	storage.Documents
	killed bool
	// beforeWrite is called once, before the next attestation is stored.
	beforeWrite func()
}

func (d *killable) Write(ctx context.Context, writes ...storage.Write) error {
	for i, write := range writes {
		if before := d.beforeWrite; before != nil && write.Schema.Name == "attestations" {
			d.beforeWrite = nil
			before()
		}
		changesTrail := write.Schema.Name == "trails" && write.Kind == storage.WriteReplace
		if d.killed && (changesTrail || write.Schema.Name == "trail_events") {
			return errors.Join(d.Documents.Write(ctx, writes[:i]...), errKilled)
		}
	}
	return d.Documents.Write(ctx, writes...)
}

// fixture is a store with two organizations, each with facts that a killed process has not applied to its trails.
type fixture struct {
	docs  *killable
	store *app.Store
	orgs  []string
	flows map[string]string // by organization
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	folder := t.TempDir()
	engine := pebbletest.Open(t, filepath.Join(folder, "documents"), app.Schemas())
	objects, err := filesystem.Open(filepath.Join(folder, "objects"))
	evidencetest.Must(t, err)
	docs := &killable{Documents: engine}
	y := &fixture{docs: docs, store: app.NewStore(docs, objects, at(noted), slog.New(slog.DiscardHandler)), flows: map[string]string{}}
	t.Cleanup(y.store.Tenancy.Close)
	_, err = y.store.Tenancy.ApplyBootstrap(t.Context(), identity.Bootstrap{
		Organizations: []identity.DeclaredOrganization{{Name: "acme"}, {Name: "other"}},
	})
	evidencetest.Must(t, err)
	err = y.store.Tenancy.EachOrganization(t.Context(), func(org *evidence.Organization) error {
		y.orgs = append(y.orgs, org.ID)
		return nil
	})
	if err != nil || len(y.orgs) != 2 {
		t.Fatalf("organizations %v: %v", y.orgs, err)
	}
	for _, org := range y.orgs {
		y.attest(t, org, "trail", nil)
		docs.killed = true
		y.attest(t, org, "trail", errKilled)
		y.attest(t, org, "fresh", errKilled)
		docs.killed = false
	}
	return y
}

// attest reports a failing attestation of a trail.
func (y *fixture) attest(t *testing.T, org, trail string, want error) {
	t.Helper()
	y.flows[org] = y.attestAt(t, org, "flow", trail, noted, want)
}

// attestAt is attest in a flow at a time in Unix seconds. It returns the id of the flow.
func (y *fixture) attestAt(t *testing.T, org, flow, trail string, now float64, want error) string {
	t.Helper()
	id := evidence.NewID()
	scope := recording.Scope{Org: org, OrgName: "acme", Flow: flow, Trail: trail, By: "by", ByID: "by", At: now}
	err := y.store.Recorder.Attest(t.Context(), scope, evidence.Attestation{
		ID: id, Org: org, Trail: trail, Name: "n" + id, Type: evidence.TypeGeneric, CreatedAt: now,
	}, nil)
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
	ref, err := y.store.Flows.Resolve(t.Context(), org, flow)
	evidencetest.Must(t, err)
	return ref.ID
}

func (y *fixture) reconciler(t *testing.T, now evidence.Clock) (*reconciler, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	return newReconciler(&process.Process{Store: y.store, Clock: now, Log: slog.New(slog.DiscardHandler), Metrics: registry}), registry
}

// counted reads how many things of a kind the reconciler has finished.
func counted(t *testing.T, registry *prometheus.Registry, kind string) float64 {
	t.Helper()
	families, err := registry.Gather()
	evidencetest.Must(t, err)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if metric.GetLabel()[0].GetValue() == kind {
				return metric.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// finished reports whether all facts are applied and the new trails counted.
func (y *fixture) finished(t *testing.T) bool {
	t.Helper()
	return !slices.ContainsFunc(y.orgs, func(org string) bool {
		trail, err := y.store.Trails.Get(t.Context(), y.flows[org], "trail")
		evidencetest.Must(t, err)
		fresh, err := y.store.Trails.Get(t.Context(), y.flows[org], "fresh")
		evidencetest.Must(t, err)
		return len(trail.Entries) != 2 || fresh.Uncounted || len(fresh.Pending) > 0
	})
}

func at(seconds float64) evidence.Clock {
	return func() time.Time { return time.UnixMicro(int64(seconds * 1e6)) }
}

func TestReconcilerFinishesInterruptedRecords(t *testing.T) {
	y := newFixture(t)
	r, registry := y.reconciler(t, at(noted+90))
	evidencetest.Must(t, r.reconcile(t.Context()))
	if !y.finished(t) {
		t.Error("not all facts were applied")
	}
	for _, org := range y.orgs {
		trail, err := y.store.Trails.Get(t.Context(), y.flows[org], "trail")
		if err != nil || trail.Status != evidence.NonCompliant || trail.Template != template.ID([]byte(template.Empty)) {
			t.Errorf("trail %+v, %v", trail, err)
		}
	}
	trails, facts := counted(t, registry, "trails"), counted(t, registry, "facts")
	if trails != 2 || facts != 2 {
		t.Errorf("counted %v trails and %v facts, want two of each", trails, facts)
	}
	if err := r.reconcile(t.Context()); err != nil || counted(t, registry, "facts") != facts {
		t.Errorf("the next pass applies facts again: %v", err)
	}
}

func TestReconcilerSkipsFactsThatMayBeUnderWay(t *testing.T) {
	y := newFixture(t)
	r, _ := y.reconciler(t, at(noted+50))
	evidencetest.Must(t, r.reconcile(t.Context()))
	if y.finished(t) {
		t.Error("facts that are 50 seconds old were applied")
	}
}

// TestReconcilerFindsFactsOfASlowClock kills a process whose clock is an hour behind, after the reconciler has read
// later facts of others.
func TestReconcilerFindsFactsOfASlowClock(t *testing.T) {
	y := newFixture(t)
	r, registry := y.reconciler(t, at(noted+90))
	for range 6 {
		evidencetest.Must(t, r.reconcile(t.Context()))
	}
	before := counted(t, registry, "facts")
	y.store = app.NewStore(y.docs, nil, at(noted-3600), slog.New(slog.DiscardHandler))
	t.Cleanup(y.store.Tenancy.Close)
	flow := y.attestAt(t, y.orgs[0], "young", "young", noted-3600, nil)
	y.docs.killed = true
	y.attestAt(t, y.orgs[0], "young", "young", noted-3599, errKilled)
	y.docs.killed = false
	evidencetest.Must(t, r.reconcile(t.Context()))
	trail, err := y.store.Trails.Get(t.Context(), flow, "young")
	if err != nil || len(trail.Entries) != 2 || counted(t, registry, "facts") != before+1 {
		t.Errorf("trail %+v: %v", trail, err)
	}
}

// TestReconcilerFindsFactsThatAreStoredLate kills a process that stores a fact only after three passes of the reconciler,
// each of which has read later facts.
func TestReconcilerFindsFactsThatAreStoredLate(t *testing.T) {
	y := newFixture(t)
	r, registry := y.reconciler(t, at(noted+90))
	pass := func() {
		t.Helper()
		evidencetest.Must(t, r.reconcile(t.Context()))
	}
	for range 6 {
		pass()
	}
	late := y.attestAt(t, y.orgs[0], "late", "late", noted+1, nil)
	y.docs.beforeWrite = func() {
		for i := range 3 {
			y.attestAt(t, y.orgs[0], "other", "other", noted+10+float64(i), nil)
			pass()
		}
		y.docs.killed = true
	}
	before := counted(t, registry, "facts")
	y.attestAt(t, y.orgs[0], "late", "late", noted+2, errKilled)
	y.docs.killed = false
	pass()
	trail, err := y.store.Trails.Get(t.Context(), late, "late")
	if err != nil || len(trail.Entries) != 2 || counted(t, registry, "facts") != before+1 {
		t.Errorf("trail %+v: %v", trail, err)
	}
}

func TestOneWorkerReconciles(t *testing.T) {
	y := newFixture(t)
	elected, err := storage.NewLeases(y.docs, at(noted)).Acquire(t.Context(), reconcileLease, time.Minute)
	if err != nil || !elected {
		t.Fatalf("elected %v: %v", elected, err)
	}
	r, _ := y.reconciler(t, at(noted+90))
	if err := r.reconcile(t.Context()); err != nil || y.finished(t) {
		t.Errorf("the reconciler ran without the lease: %v", err)
	}
}
