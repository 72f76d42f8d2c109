package app_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/environments"
	"attestry/storage/filesystem"
	"attestry/storage/guard"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/storagetest"
)

const damageTemplate = "version: 1\ntrail: {artifacts: [{name: web}]}\n"

// damageFixture gives access to the engines of a store, to damage its content.
type damageFixture struct {
	t      *testing.T
	folder string
	docs   storage.Documents
	engine storage.Objects
}

func newDamageFixture(t *testing.T) *damageFixture {
	t.Helper()
	folder := t.TempDir()
	s := &damageFixture{t: t, folder: folder, docs: pebbletest.Open(t, filepath.Join(folder, "documents"), app.Schemas())}
	var err error
	s.engine, err = filesystem.Open(filepath.Join(folder, "objects"))
	s.must(err)
	return s
}

// process opens the store as a new process does, with empty caches.
func (s *damageFixture) process() *app.Store {
	log := slog.New(slog.DiscardHandler)
	guarded := guard.New(time.Now, log, prometheus.NewRegistry())
	store := app.NewStore(guarded.Documents(s.docs), guarded.Objects(s.engine), time.Now, log)
	s.t.Cleanup(store.Tenancy.Close)
	return store
}

func (s *damageFixture) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// damageObject changes the only object of the store, or removes it.
func (s *damageFixture) damageObject(lost bool) {
	s.t.Helper()
	folder := filepath.Join(s.folder, "objects")
	keys := storagetest.FileKeys(s.t, folder)
	if len(keys) != 1 {
		s.t.Fatalf("there are %d objects", len(keys))
	}
	file := filepath.Join(folder, keys[0])
	if lost {
		s.must(os.Remove(file))
		return
	}
	content, err := os.ReadFile(file)
	s.must(err)
	content[len(content)-2] ^= 1
	s.must(os.WriteFile(file, content, 0o600))
}

// damageDocument changes a document, or removes it.
func (s *damageFixture) damageDocument(collection, id string, change func([]byte) []byte) {
	s.t.Helper()
	for _, schema := range app.Schemas() {
		if schema.Name != collection {
			continue
		}
		record, err := s.docs.Get(s.t.Context(), schema, id)
		s.must(err)
		s.must(storagetest.Delete(s.t.Context(), s.docs, schema, id))
		if change != nil {
			record.Body = change(record.Body)
			s.must(storagetest.Insert(s.t.Context(), s.docs, schema, record))
		}
	}
}

func TestErrorsOfDamagedContentNameIt(t *testing.T) {
	large := []byte("version: 1\ntrail: {artifacts: [{name: web}]}\n#" + strings.Repeat("x", 300<<10))
	schema := []byte(`{"type":"object","description":"` + strings.Repeat("x", 100<<10) + `"}`)
	typeDefinition := evidence.AttestationTypeVersion{Org: "org", Name: "scan", CreatedBy: "me", Schema: schema}
	// store stores something and damages it. It returns how to read it, and what the message to clients must name.
	for name, store := range map[string]func(s *damageFixture) (read func(context.Context, *app.Store) error, named string){
		"a template's object was altered": func(s *damageFixture) (func(context.Context, *app.Store) error, string) {
			id, err := s.process().Templates.Put(t.Context(), "org", large)
			s.must(err)
			s.damageObject(false)
			return readTemplate(id), id
		},
		"a template's object is lost": func(s *damageFixture) (func(context.Context, *app.Store) error, string) {
			id, err := s.process().Templates.Put(t.Context(), "org", large)
			s.must(err)
			s.damageObject(true)
			return readTemplate(id), id
		},
		"a template's document was altered": func(s *damageFixture) (func(context.Context, *app.Store) error, string) {
			id, err := s.process().Templates.Put(t.Context(), "org", []byte(damageTemplate))
			s.must(err)
			other, err := json.Marshal([]byte(strings.Replace(damageTemplate, "web", "api", 1)))
			s.must(err)
			own, err := json.Marshal([]byte(damageTemplate))
			s.must(err)
			s.damageDocument("templates", "org/"+id, func(b []byte) []byte { return bytes.Replace(b, own, other, 1) })
			return readTemplate(id), id
		},
		"a document is not JSON": func(s *damageFixture) (func(context.Context, *app.Store) error, string) {
			id, err := s.process().Templates.Put(t.Context(), "org", []byte(damageTemplate))
			s.must(err)
			s.damageDocument("templates", "org/"+id, func(b []byte) []byte { return b[:len(b)-1] })
			return readTemplate(id), "templates"
		},
		"a schema's object was altered": func(s *damageFixture) (func(context.Context, *app.Store) error, string) {
			_, err := s.process().AttestationTypes.Put(t.Context(), typeDefinition)
			s.must(err)
			s.damageObject(false)
			return readType, "'scan'"
		},
		"a schema's object is lost": func(s *damageFixture) (func(context.Context, *app.Store) error, string) {
			_, err := s.process().AttestationTypes.Put(t.Context(), typeDefinition)
			s.must(err)
			s.damageObject(true)
			return readType, "'scan'"
		},
		"the latest version of a type is lost": func(s *damageFixture) (func(context.Context, *app.Store) error, string) {
			_, err := s.process().AttestationTypes.Put(t.Context(), typeDefinition)
			s.must(err)
			s.damageDocument("attestation_type_versions", "org/scan/1", nil)
			return readType, "'scan'"
		},
		"a report's object was altered": func(s *damageFixture) (func(context.Context, *app.Store) error, string) {
			record := s.largeReport()
			s.damageObject(false)
			return readReport(record), "report 7"
		},
		"a report's object is lost": func(s *damageFixture) (func(context.Context, *app.Store) error, string) {
			record := s.largeReport()
			s.damageObject(true)
			return readReport(record), "report 7"
		},
		"a chunk was altered": func(s *damageFixture) (func(context.Context, *app.Store) error, string) {
			made, chunk := s.someSnapshot()
			s.damageDocument("chunks", chunk, func(b []byte) []byte { return bytes.Replace(b, []byte("web"), []byte("api"), 1) })
			return readSnapshot(made), chunk
		},
		"a chunk is lost": func(s *damageFixture) (func(context.Context, *app.Store) error, string) {
			made, chunk := s.someSnapshot()
			s.damageDocument("chunks", chunk, nil)
			return readSnapshot(made), "snapshot"
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newDamageFixture(t)
			read, named := store(s)
			err := read(t.Context(), s.process())
			var client *evidence.Error
			if !errors.As(err, &client) || client.Code != evidence.Damaged || !errors.Is(err, storage.ErrDamaged) {
				t.Fatalf("reading it returned %v", err)
			}
			if !strings.Contains(client.Message, named) {
				t.Errorf("the message to clients is %q, which does not name %s", client.Message, named)
			}
			if errors.Is(err, storage.ErrNotFound) {
				t.Error("the error is also ErrNotFound")
			}
		})
	}
}

func readTemplate(id string) func(context.Context, *app.Store) error {
	return func(ctx context.Context, store *app.Store) error {
		_, err := store.Templates.Get(ctx, "org", id)
		return err
	}
}

func readType(ctx context.Context, store *app.Store) error {
	_, _, _, err := store.AttestationTypes.Current(ctx, "org", "scan")
	return err
}

func readReport(record environments.WaitingReport) func(context.Context, *app.Store) error {
	return func(ctx context.Context, store *app.Store) error {
		_, err := store.Reports.Unpack(ctx, &record)
		return err
	}
}

func readSnapshot(made snapshot.Snapshot) func(context.Context, *app.Store) error {
	return func(ctx context.Context, store *app.Store) error {
		_, err := store.Snapshots.Artifacts(ctx, &made)
		return err
	}
}

// largeReport packs a report that does not fit in its document even when compressed, and so becomes an object.
func (s *damageFixture) largeReport() environments.WaitingReport {
	s.t.Helper()
	var report snapshot.Report
	for range 12_000 {
		sum := make([]byte, 32)
		_, err := io.ReadFull(rand.Reader, sum)
		s.must(err)
		report.Artifacts = append(report.Artifacts, snapshot.Reported{Fingerprint: hex.EncodeToString(sum), Name: "web"})
	}
	record := environments.WaitingReport{ReportRecord: snapshot.ReportRecord{Org: "org", Environment: "env", Arrival: 7}}
	s.must(s.process().Reports.Pack(s.t.Context(), &record, &report))
	if record.Object == "" {
		s.t.Fatal("the report was not stored as an object")
	}
	return record
}

// someSnapshot stores a snapshot of one chunk.
func (s *damageFixture) someSnapshot() (made snapshot.Snapshot, chunk string) {
	s.t.Helper()
	tree := new(snapshot.Tree).Next([]snapshot.Artifact{{Reported: snapshot.Reported{Fingerprint: strings.Repeat("ab", 32), Name: "web"}}})
	made = snapshot.Snapshot{Environment: "env", Number: 1, Root: tree.Root}
	var batch storage.Batch
	s.process().Snapshots.InsertIn(&batch, &made, tree.Chunks)
	s.must(batch.Write(s.t.Context(), s.docs))
	return made, tree.Root
}
