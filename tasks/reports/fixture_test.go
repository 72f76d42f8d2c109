package reports_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/evidence/job"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/storagetest"
	"attestry/tasks/reports"
)

func newClock() *evidencetest.Clock {
	return evidencetest.NewSteppingClock(time.Unix(1_790_000_000, 0), time.Millisecond)
}

// scene is one environment with the components that process its reports. There is no queue: tests drain it themselves.
type scene struct {
	store     *app.Store
	clock     *evidencetest.Clock
	intake    *reports.Intake
	processor *reports.Processor
	env       string
	// docs is the engine without wrappers, which has its files in the folder.
	docs   storage.Documents
	folder string
}

func openDocuments(t testing.TB, folder string) storage.Documents {
	t.Helper()
	return pebbletest.Open(t, filepath.Join(folder, "documents"), app.Schemas())
}

func openObjects(t testing.TB, folder string) storage.Objects {
	t.Helper()
	objects, err := filesystem.Open(filepath.Join(folder, "objects"))
	evidencetest.Must(t, err)
	return objects
}

func newScene(t testing.TB, wrap func(storage.Documents) storage.Documents) *scene {
	t.Helper()
	folder := t.TempDir()
	engine := openDocuments(t, folder)
	docs := engine
	if wrap != nil {
		docs = wrap(docs)
	}
	clock := newClock()
	store := app.NewStore(docs, openObjects(t, folder), clock.Now, quiet())
	t.Cleanup(store.Tenancy.Close)
	s := &scene{
		store:     store,
		clock:     clock,
		intake:    reports.NewIntake(store, silent{}, silent{}, clock.Now, 0),
		processor: reports.NewProcessor(store, silent{}, clock.Now, quiet(), func(string) {}),
		env:       evidence.NewID(),
		docs:      engine,
		folder:    folder,
	}
	s.create(t, s.env)
	return s
}

// wantNoObjects fails if an object is left in the object store.
func (s *scene) wantNoObjects(t *testing.T) {
	t.Helper()
	if left := storagetest.FileKeys(t, filepath.Join(s.folder, "objects")); len(left) > 0 {
		t.Errorf("objects %q are left", left)
	}
}

// another returns the scene in another process, with empty caches, whose engine may be wrapped.
func (s *scene) another(t testing.TB, wrap func(storage.Documents) storage.Documents) *scene {
	t.Helper()
	other := *s
	docs := s.docs
	if wrap != nil {
		docs = wrap(docs)
	}
	other.store = app.NewStore(docs, openObjects(t, s.folder), s.clock.Now, quiet())
	t.Cleanup(other.store.Tenancy.Close)
	other.intake = reports.NewIntake(other.store, silent{}, silent{}, s.clock.Now, 0)
	other.processor = reports.NewProcessor(other.store, silent{}, s.clock.Now, quiet(), func(string) {})
	return &other
}

func (s *scene) create(t testing.TB, id string) {
	t.Helper()
	_, err := s.store.Environments.Put(t.Context(), evidence.Environment{
		ID: id, Org: "org", Name: "env-" + id, Type: evidence.Server,
	}, evidence.EnvironmentChange{})
	evidencetest.Must(t, err)
}

func (s *scene) accept(t testing.TB, report snapshot.Report) snapshot.Verdict {
	t.Helper()
	verdict, err := s.intake.Accept(t.Context(), reports.Submission{
		Org: "org", Environment: s.env, ReportedBy: "reporter", Report: report,
	})
	evidencetest.Must(t, err)
	return verdict
}

func (s *scene) drain(t testing.TB) {
	t.Helper()
	evidencetest.Must(t, s.processor.Drain(t.Context(), s.env))
}

func (s *scene) head(t testing.TB) snapshot.Head {
	t.Helper()
	head, err := s.store.Heads.Get(t.Context(), s.env)
	evidencetest.Must(t, err)
	return head
}

func (s *scene) artifacts(t testing.TB, number int64) (snapshot.Snapshot, []snapshot.Artifact, []snapshot.Change) {
	t.Helper()
	made, err := s.store.Snapshots.Get(t.Context(), s.env, number)
	evidencetest.Must(t, err)
	artifacts, err := s.store.Snapshots.Artifacts(t.Context(), &made)
	evidencetest.Must(t, err)
	changes, err := s.store.Snapshots.Changes(t.Context(), &made)
	evidencetest.Must(t, err)
	return made, artifacts, changes
}

// silent is a fake queue and publisher that drops everything.
type silent struct{}

func (silent) Dispatch(context.Context, *job.Kind, string, int64) {}
func (silent) Unreachable() bool                                  { return false }
func (silent) Register(string) (<-chan struct{}, func(), bool) {
	return nil, func() {}, false
}
func (silent) PublishChange(context.Context, string) {}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// running is a report of a server that has each of the named files once.
func running(names ...string) snapshot.Report {
	instances := make([]snapshot.Instance, 0, len(names))
	for _, name := range names {
		instances = append(instances, snapshot.Instance{
			Digests:   map[string]string{"/opt/" + name: fingerprint(name)},
			CreatedAt: 1_789_000_000,
		})
	}
	return snapshot.Canonical(evidence.Server, instances)
}

// fleet is a report of n files. Those with an index in other are replaced by new ones.
func fleet(n int, other ...int) snapshot.Report {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("service-%d", i)
	}
	for _, i := range other {
		names[i] += "-next"
	}
	return running(names...)
}
