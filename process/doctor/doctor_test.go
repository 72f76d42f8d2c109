package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"attestry/config"
	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/process"
	"attestry/process/doctor"
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/tasks"
)

// site is a service with the organization acme.
type site struct {
	t       *testing.T
	folder  string
	environ []string
	// ahead is how far the clock of the service is ahead when it records something.
	ahead time.Duration
}

func newSite(t *testing.T, environ ...string) *site {
	t.Helper()
	folder := t.TempDir()
	s := &site{t: t, folder: folder, environ: append([]string{
		"ATTESTRY_DATABASE_URL=pebble://" + folder + "/documents", "ATTESTRY_OBJECTS_URL=file://" + folder + "/objects",
	}, environ...)}
	s.record(func(*process.Process, evidence.Organization) {})
	return s
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) settings() config.Settings {
	s.t.Helper()
	settings, err := config.LoadFrom(config.Sources{Environ: s.environ, Defaults: map[string]string{"ATTESTRY_REDIS_URL": ""}})
	s.must(err)
	return settings
}

// record runs the service while something is recorded.
func (s *site) record(something func(*process.Process, evidence.Organization)) {
	s.t.Helper()
	settings := s.settings()
	settings.Stores.Redis.URL = "redis://127.0.0.1:1"
	p, err := process.OpenWith(s.t.Context(), settings, slog.New(slog.DiscardHandler), func() time.Time { return time.Now().Add(s.ahead) }, nil)
	s.must(err)
	_, err = p.Store.Tenancy.ApplyBootstrap(s.t.Context(), identity.Bootstrap{
		Users: []identity.DeclaredUser{{Name: "anna"}}, Organizations: []identity.DeclaredOrganization{{Name: "acme"}},
	})
	s.must(err)
	org, err := p.Store.Tenancy.Organization(s.t.Context(), "acme")
	s.must(err)
	something(p, org)
	s.must(p.Close())
}

// examine returns the findings by check. The service is not running.
func (s *site) examine() findings {
	s.t.Helper()
	tested := s.open(s.settings())
	defer func() { s.must(tested.Close()) }()
	return examine(s.t, tested)
}

// open opens the stores for an examination.
func (s *site) open(settings config.Settings) *doctor.Subject {
	s.t.Helper()
	tested := &doctor.Subject{Failed: map[string]error{}}
	var err error
	tested.Process, err = tested.Open(s.t.Context(), settings, slog.New(slog.DiscardHandler))
	s.must(err)
	return tested
}

type findings map[string][]doctor.Finding

func examine(t *testing.T, subject *doctor.Subject) findings {
	t.Helper()
	found, notOK := findings{}, 0
	wrong, err := subject.Examine(t.Context(), func(one doctor.Finding) error {
		found[one.Check] = append(found[one.Check], one)
		if one.State != doctor.OK {
			notOK++
		}
		if (one.Advice == "") != (one.State == doctor.OK) || one.Measured == "" {
			t.Errorf("%+v", one)
		}
		return nil
	})
	if err != nil || wrong != notOK {
		t.Errorf("%d findings, %d counted: %v", notOK, wrong, err)
	}
	return found
}

// stateOf returns the state of a finding. It ignores that a store is slow, because the machine may be busy.
func stateOf(found *doctor.Finding) doctor.State {
	if strings.HasPrefix(found.Measured, "answers in ") {
		return doctor.OK
	}
	return found.State
}

// want requires that a check has one finding with a state and a text, and that all other checks but the named are OK.
func (f findings) want(t *testing.T, check string, state doctor.State, text string, others ...string) {
	t.Helper()
	if len(f[check]) != 1 || stateOf(&f[check][0]) != state || !strings.Contains(f[check][0].Measured+"\n"+f[check][0].Advice, text) {
		t.Errorf("%s: %+v, want %s, %q", check, f[check], state, text)
	}
	for name, found := range f {
		if name != check && !slices.Contains(others, name) && (len(found) != 1 || stateOf(&found[0]) != doctor.OK) {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestHealthyServicePassesAllChecks(t *testing.T) {
	found := newSite(t).examine()
	want := []string{"clock", "database", "disk", "keys", "log", "object store", "retention", "settings", "work"}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
		t.Errorf("the checks are %v", got)
	}
	found.want(t, "log", doctor.OK, "0 entries of 0 logs ")
	found.want(t, "retention", doctor.OK, "off")
	found.want(t, "disk", doctor.OK, "days left: unknown")
	found.want(t, "clock", doctor.OK, "agrees with stores and records")
	found.want(t, "database", doctor.OK, "takes a write in ")
}

func TestProbesAreDeletedFromStores(t *testing.T) {
	s := newSite(t)
	s.examine()
	s.record(func(p *process.Process, _ evidence.Organization) {
		probes, err := p.Store.Documents.List(t.Context(), storage.ProbeSchema, "", 10, storage.MaxBody)
		if err != nil || len(probes) > 0 {
			t.Errorf("it left %v, %v", probes, err)
		}
		objects, err := p.Store.Objects.List(t.Context(), "", 10)
		if err != nil || len(objects) > 0 {
			t.Errorf("it left %v, %v", objects, err)
		}
	})
}

func TestStoresThatCannotBeOpenedAreReported(t *testing.T) {
	ofDocuments, ofObjects := []string{"settings", "clock", "keys", "work", "log", "disk"}, []string{"retention", "clock", "log", "disk"}
	for name, row := range map[string]struct {
		damage      func(s *site)
		check, text string
		without     []string
		// absent is a folder that the examination must not create.
		absent string
	}{
		"no database": {func(s *site) { s.must(os.RemoveAll(s.folder + "/documents")) },
			storage.Database, "no such file or directory", ofDocuments, "documents"},
		"an incomplete copy": {func(s *site) {
			s.record(func(p *process.Process, _ evidence.Organization) {
				s.must(process.BeginCopy(t.Context(), p.Engines.Documents))
			})
		}, storage.Database, "the database is an incomplete copy", ofDocuments, ""},
		"a file in place of the database": {func(s *site) {
			s.must(os.RemoveAll(s.folder + "/documents"))
			s.must(os.WriteFile(s.folder+"/documents", nil, 0o600))
		}, storage.Database, "a folder is needed there", ofDocuments, ""},
		"no object store": {func(s *site) { s.must(os.RemoveAll(s.folder + "/objects")) },
			storage.ObjectStore, "no such file or directory", ofObjects, "objects"},
		"a file in place of the object store": {func(s *site) {
			s.must(os.RemoveAll(s.folder + "/objects"))
			s.must(os.WriteFile(s.folder+"/objects", nil, 0o600))
		}, storage.ObjectStore, "not a directory", ofObjects, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			row.damage(s)
			found := s.examine()
			found.want(t, row.check, doctor.Error, row.text)
			for _, check := range row.without {
				if found[check] != nil {
					t.Errorf("%s: %+v", check, found[check])
				}
			}
			if _, err := os.Stat(filepath.Join(s.folder, row.absent)); row.absent != "" && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s was made: %v", row.absent, err)
			}
		})
	}
}

// subject returns a Subject of open stores or fakes.
func subject(t *testing.T, settings config.Settings, docs storage.Documents, objects storage.Objects) *doctor.Subject {
	t.Helper()
	client, err := tasks.NewRedis("redis://127.0.0.1:1", nil)
	if err != nil {
		t.Fatal(err)
	}
	return &doctor.Subject{
		Process: process.Assemble(settings, slog.New(slog.DiscardHandler), time.Now, client, docs, objects, nil), Failed: map[string]error{},
	}
}

// readOnlyDocuments is a database that refuses writes.
type readOnlyDocuments struct{ storage.Documents }

func (readOnlyDocuments) Write(context.Context, ...storage.Write) error {
	return storage.RefuseWrite(storage.Database, storage.ReadOnly, errors.New("of a fake"))
}

// retaining is an object store that deletes nothing.
type retaining struct{ storage.Objects }

func (retaining) Delete(context.Context, string) error { return storage.ErrRetained }

func TestStoresThatRefuseWritesOrDeletionsAreReported(t *testing.T) {
	s := newSite(t)
	docs, err := process.OpenDocuments(t.Context(), s.settings().Stores.Database, nil)
	s.must(err)
	objects, err := filesystem.Open(s.folder + "/objects")
	s.must(err)
	tested := subject(t, s.settings(), readOnlyDocuments{docs}, retaining{objects})
	defer func() { s.must(tested.Close()) }()
	found := examine(t, tested)
	found.want(t, storage.Database, doctor.Error, "takes no writes: The database cannot be written to: it is read-only", storage.ObjectStore)
	if of := found[storage.ObjectStore]; len(of) != 2 || stateOf(&of[0]) != doctor.OK || of[1].State != doctor.Warning || !strings.Contains(of[1].Measured, "keeps what is deleted") {
		t.Errorf("%+v", of)
	}
}

// hanging is a database that does not answer, whatever the context says.
type hanging struct {
	storage.Documents
	released chan struct{}
}

func (h hanging) Ping(context.Context) error { <-h.released; return nil }

func (hanging) Close() error { return nil }

func TestHangingStoreDoesNotBlockOtherChecks(t *testing.T) {
	s := newSite(t)
	settings := s.settings()
	objects, err := filesystem.Open(s.folder + "/objects")
	s.must(err)
	synctest.Test(t, func(t *testing.T) {
		released := make(chan struct{})
		defer close(released)
		began := time.Now()
		tested := subject(t, settings, hanging{released: released}, objects)
		found := examine(t, tested)
		found.want(t, storage.Database, doctor.Error, "no answer within 12s")
		if took := time.Since(began); took != 12*time.Second {
			t.Errorf("it took %v", took)
		}
		if err := tested.Close(); err != nil {
			t.Error(err)
		}
	})
}

// slow is an empty database whose Ping takes 2 seconds.
type slow struct{ storage.Documents }

func (slow) Ping(context.Context) error { time.Sleep(2 * time.Second); return nil }

func (slow) Write(context.Context, ...storage.Write) error { return nil }

func TestSlowStoreIsReported(t *testing.T) {
	settings := newSite(t).settings()
	synctest.Test(t, func(t *testing.T) {
		tested := subject(t, settings, slow{}, nil)
		defer tested.Redis.Close()
		of := examine(t, tested)[storage.Database]
		if len(of) != 1 || of[0].State != doctor.Warning || of[0].Measured != "answers in 2s, takes a write in 0s" {
			t.Errorf("%+v", of)
		}
	})
}

func TestExamineEndsWhenItIsCancelledOrItsOutputFails(t *testing.T) {
	s := newSite(t)
	tested := s.open(s.settings())
	defer func() { s.must(tested.Close()) }()
	ctx, cancel := context.WithCancel(t.Context())
	passed := 0
	_, err := tested.Examine(ctx, func(doctor.Finding) error {
		passed++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || passed > 2 {
		t.Errorf("%d findings: %v", passed, err)
	}
	if _, err := tested.Examine(t.Context(), func(doctor.Finding) error { return os.ErrClosed }); !errors.Is(err, os.ErrClosed) {
		t.Errorf("an error of the output becomes %v", err)
	}
}

func TestMissingBucketIsReportedAndNotCreated(t *testing.T) {
	var written atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			written.Add(1)
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "<Error><Code>NoSuchBucket</Code></Error>")
	}))
	defer server.Close()
	s := newSite(t)
	s.environ = append(s.environ, "ATTESTRY_OBJECTS_URL=http://key:secret@"+server.Listener.Addr().String()+"/mistyped")
	s.examine().want(t, storage.ObjectStore, doctor.Error, "open bucket mistyped: it does not exist")
	if written.Load() != 0 {
		t.Errorf("%d requests would write", written.Load())
	}
}

func TestNoPasswordIsShown(t *testing.T) {
	const secret = "open-sesame-4711"
	s := newSite(t)
	s.environ = []string{
		"ATTESTRY_DATABASE_URL=mongodb://app:" + secret + "@127.0.0.1:1/db?serverSelectionTimeoutMS=50",
		"ATTESTRY_OBJECTS_URL=http://app:" + secret + "@127.0.0.1:1/bucket", "ATTESTRY_REDIS_URL=redis://:" + secret + "@127.0.0.1:1",
	}
	found := s.examine()
	for _, check := range []string{storage.Database, storage.ObjectStore, "redis"} {
		if len(found[check]) != 1 || found[check][0].State != doctor.Error {
			t.Errorf("%s: %+v", check, found[check])
		}
	}
	if text := fmt.Sprint(found); strings.Contains(text, "sesame") {
		t.Error(text)
	}
}
