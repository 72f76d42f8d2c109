package backup_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"attestry/app"
	"attestry/app/apptest"
	"attestry/app/verify"
	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/process/backup"
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/storage/guard"
	"attestry/storage/pebble"
)

const org = "0b0e6f4e-0000-4000-8000-000000000001"

// service is a service with open stores.
type service struct {
	t       *testing.T
	folder  string
	docs    *pebble.DB
	objects *filesystem.Store
	// guarded is the object store with the guard, as the service uses it.
	guarded interface{ HoldDeletions() func() }
	store   *app.Store
	flow    evidence.Flow
	now     time.Time
	found   []verify.Finding
}

func openFolder(ctx context.Context, folder string) (storage.Documents, error) {
	return pebble.Open(ctx, pebble.Options{Folder: folder}, app.Schemas())
}

func openObjects(t *testing.T, folder string) *filesystem.Store {
	t.Helper()
	objects, err := filesystem.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = objects.Close() })
	return objects
}

func openService(t *testing.T, folder string) *service {
	t.Helper()
	s := &service{t: t, folder: folder, now: time.Unix(1_800_000_000, 0)}
	docs, err := openFolder(t.Context(), filepath.Join(folder, "documents"))
	s.must(err)
	s.docs = docs.(*pebble.DB)
	t.Cleanup(func() { s.must(s.docs.Close()) })
	s.objects = openObjects(t, filepath.Join(folder, "objects"))
	log := slog.New(slog.DiscardHandler)
	guarded := guard.New(time.Now, log, prometheus.NewRegistry()).Objects(s.objects)
	s.guarded = guarded.(interface{ HoldDeletions() func() })
	s.store = app.NewStore(s.docs, guarded, time.Now, log)
	t.Cleanup(s.store.Tenancy.Close)
	return s
}

func newService(t *testing.T) *service {
	t.Helper()
	s := openService(t, t.TempDir())
	var err error
	s.flow, err = apptest.PutTemplatedFlow(t.Context(), s.store, org, "backend")
	s.must(err)
	s.record("first")
	return s
}

func (s *service) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *service) record(trail string) {
	s.t.Helper()
	s.must(apptest.RecordTrail(s.t.Context(), s.store, &s.flow, trail))
}

func (s *service) output() backup.Output {
	return backup.Output{Clock: func() time.Time { return s.now }, Progress: io.Discard, Report: func(f verify.Finding) error {
		s.found = append(s.found, f)
		return nil
	}}
}

// backUp makes a backup, an hour after the previous one.
func (s *service) backUp(backups storage.Objects) (backup.Manifest, error) {
	s.now = s.now.Add(time.Hour)
	return backup.Make(s.t.Context(), backup.Source{
		Checkpoint: s.docs.Checkpoint, Folder: filepath.Join(s.folder, "documents"), Open: openFolder,
		Objects: s.objects, HoldDeletions: s.guarded.HoldDeletions,
	}, backups, s.output())
}

// restore restores a backup to another folder.
func (s *service) restore(backups storage.Objects, name, folder string) error {
	chosen, err := backup.Choose(s.t.Context(), backups, name)
	if err != nil {
		return err
	}
	_, err = backup.Restore(s.t.Context(), backups, &chosen, backup.Target{
		Folder: filepath.Join(folder, "documents"), Open: openFolder, Objects: openObjects(s.t, filepath.Join(folder, "objects")),
	}, s.output())
	return err
}

// wantWhole verifies the stores of a restored service and checks that it has the trails.
func (s *service) wantWhole(flow *evidence.Flow, trails ...string) {
	s.t.Helper()
	_, err := verify.Run(s.t.Context(), verify.Options{Documents: s.docs, Objects: s.objects, Report: func(f verify.Finding) error {
		s.t.Errorf("%s: %s", f.Where, f.What)
		return nil
	}})
	s.must(err)
	for _, name := range trails {
		trail, err := s.store.Trails.Collection.Get(s.t.Context(), evidence.TrailKey(flow.ID, name))
		s.must(err)
		if trail.Status != evidence.Compliant {
			s.t.Errorf("%s is %s", name, trail.Status)
		}
	}
}

func TestBackupUnderLoadRestoresAcknowledgedTrails(t *testing.T) {
	s := newService(t)
	var mu sync.Mutex
	var acknowledged []string
	stop, enough := make(chan struct{}), make(chan struct{})
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				name := fmt.Sprintf("trail-%d-%d", w, i)
				if err := apptest.RecordTrail(context.Background(), s.store, &s.flow, name); err != nil {
					t.Errorf("record %s: %v", name, err)
					return
				}
				mu.Lock()
				if acknowledged = append(acknowledged, name); len(acknowledged) == 40 {
					close(enough)
				}
				mu.Unlock()
			}
		})
	}
	<-enough
	mu.Lock()
	before := append([]string{"first"}, acknowledged...)
	mu.Unlock()
	backups := openObjects(t, t.TempDir())
	made, err := s.backUp(backups)
	close(stop)
	writers.Wait()
	s.must(err)
	if made.Verified.Findings != 0 || made.Verified.Documents < int64(len(before)) {
		t.Errorf("verified: %+v, %v", made.Verified, s.found)
	}
	folder := t.TempDir()
	s.must(s.restore(backups, "", folder))
	openService(t, folder).wantWhole(&s.flow, before...)
}

// counter counts the Puts into an object store.
type counter struct {
	storage.Objects
	puts int
}

func (c *counter) Put(ctx context.Context, scope string, r io.Reader, size int64) (storage.Object, error) {
	c.puts++
	return c.Objects.Put(ctx, scope, r, size)
}

func TestLaterBackupCopiesOnlyNewFilesAndBothCanBeRestored(t *testing.T) {
	s := newService(t)
	backups := &counter{Objects: openObjects(t, t.TempDir())}
	first, err := s.backUp(backups)
	s.must(err)
	s.record("second")
	s.must(os.MkdirAll(filepath.Join(s.folder, "documents.backup", "half"), 0o700)) // as a killed process leaves it
	backups.puts = 0
	second, err := s.backUp(backups)
	s.must(err)
	fresh := 0
	for _, file := range second.Files {
		known := false
		for _, other := range first.Files {
			known = known || other.Key == file.Key
		}
		if !known {
			fresh++
		}
	}
	// The file attested in the second trail, and the manifest.
	if backups.puts != fresh+2 || fresh == len(second.Files) {
		t.Errorf("%d puts for %d fresh files of %d", backups.puts, fresh, len(second.Files))
	}
	folders := map[string]string{first.Name(): t.TempDir(), "": t.TempDir()}
	for name, folder := range folders {
		s.must(s.restore(backups, name, folder))
	}
	earlier := openService(t, folders[first.Name()])
	earlier.wantWhole(&s.flow, "first")
	if _, err := earlier.store.Trails.Collection.Get(t.Context(), evidence.TrailKey(s.flow.ID, "second")); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("the first backup has the second trail: %v", err)
	}
	openService(t, folders[""]).wantWhole(&s.flow, "first", "second")
	if err := s.restore(backups, "yesterday", t.TempDir()); err == nil || !strings.Contains(err.Error(), first.Name()+", "+second.Name()) {
		t.Errorf("a backup that is not there: %v", err)
	}
}

// full is an object store that takes a number of objects and then fails while it reads the next one.
type full struct {
	storage.Objects
	left int
}

func (f *full) Put(ctx context.Context, scope string, r io.Reader, size int64) (storage.Object, error) {
	if f.left--; f.left < 0 {
		r = io.MultiReader(io.LimitReader(r, 1), brokenReader{})
	}
	return f.Objects.Put(ctx, scope, r, size)
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, syscall.ENOSPC }

// Each attempt to back up has room for one more object.
func TestInterruptedBackupIsNotRestorableAndIsContinued(t *testing.T) {
	s := newService(t)
	folder := t.TempDir()
	backups := openObjects(t, folder)
	for room := 0; ; room++ {
		_, err := s.backUp(&full{Objects: backups, left: room})
		if err == nil && room > 3 {
			break
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("with room for %d objects: %v", room, err)
		}
		evidencetest.Is(t, s.restore(backups, "", t.TempDir()), backup.ErrNone)
		if _, err := os.Stat(filepath.Join(s.folder, "documents.backup")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the checkpoint is left: %v", err)
		}
		s.record(fmt.Sprint("meanwhile-", room)) // the service goes on
	}
	target := t.TempDir()
	s.must(s.restore(backups, "", target))
	openService(t, target).wantWhole(&s.flow, "first", "meanwhile-1")
}

func TestRestoreRefusesStoresThatAreNotEmpty(t *testing.T) {
	s := newService(t)
	backups := openObjects(t, t.TempDir())
	_, err := s.backUp(backups)
	s.must(err)
	for name, c := range map[string]struct {
		use  func(folder string) error
		want string
	}{
		"a database is there": {
			func(folder string) error {
				docs, err := openFolder(t.Context(), filepath.Join(folder, "documents"))
				return errors.Join(err, docs.Close())
			}, "the folder of the database is not empty",
		},
		"another object is there": {
			func(folder string) error {
				_, err := openObjects(t, filepath.Join(folder, "objects")).Put(t.Context(), org, strings.NewReader("foreign"), -1)
				return err
			}, "the object store is not empty",
		},
		"a file is in the place of the database": {
			func(folder string) error { return os.WriteFile(filepath.Join(folder, "documents"), nil, 0o600) }, "not a directory",
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			s.must(c.use(folder))
			if err := s.restore(backups, "", folder); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it is restored: %v", err)
			}
		})
	}
}

// During the first attempt to restore, the backup lacks a file of the database.
func TestInterruptedRestoreLeavesNoDatabaseAndCanBeRepeated(t *testing.T) {
	s := newService(t)
	folder, target := t.TempDir(), t.TempDir()
	backups := openObjects(t, folder)
	made, err := s.backUp(backups)
	s.must(err)
	file := filepath.Join(folder, made.Files[len(made.Files)-1].Key)
	s.must(os.Rename(file, file+".away"))
	evidencetest.Is(t, s.restore(backups, "", target), storage.ErrNotFound)
	if _, err := os.Stat(filepath.Join(target, "documents")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a database: %v", err)
	}
	s.must(os.Rename(file+".away", file))
	s.must(os.WriteFile(filepath.Join(target, "documents.restoring", "half"), nil, 0o600)) // as a killed process leaves it
	s.must(s.restore(backups, "", target))
	openService(t, target).wantWhole(&s.flow, "first")
}

// TestObjectsAreNotDeletedWhileABackupIsMade deletes an object right after the checkpoint, in which a document names
// it.
func TestObjectsAreNotDeletedWhileABackupIsMade(t *testing.T) {
	s := newService(t)
	page, err := s.objects.List(t.Context(), "", 1)
	s.must(err)
	backups := openObjects(t, t.TempDir())
	_, err = backup.Make(t.Context(), backup.Source{
		Checkpoint: func(ctx context.Context, folder string) error {
			return errors.Join(s.docs.Checkpoint(ctx, folder), s.store.Objects.Delete(ctx, page[0].Key))
		},
		Folder: filepath.Join(s.folder, "documents"), Open: openFolder, Objects: s.objects, HoldDeletions: s.guarded.HoldDeletions,
	}, backups, s.output())
	s.must(err)
	if len(s.found) > 0 {
		t.Errorf("found %v", s.found)
	}
	s.must(s.store.Objects.Delete(t.Context(), page[0].Key))
	if _, err := s.objects.Stat(t.Context(), page[0].Key); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("it cannot be deleted behind the backup: %v", err)
	}
}

func TestADamagedObjectIsReportedAndAllElseIsBackedUp(t *testing.T) {
	s := newService(t)
	page, err := s.objects.List(t.Context(), "", 1)
	s.must(err)
	s.must(os.WriteFile(filepath.Join(s.folder, "objects", page[0].Key), []byte("other"), 0o600))
	backups := openObjects(t, t.TempDir())
	made, err := s.backUp(backups)
	s.must(err)
	if len(s.found) != 2 || !strings.Contains(s.found[0].What, "it was not copied") || made.Verified.Findings != 1 {
		t.Errorf("found %v", s.found)
	}
	target := t.TempDir()
	s.must(s.restore(backups, "", target))
	trail, err := openService(t, target).store.Trails.Collection.Get(t.Context(), evidence.TrailKey(s.flow.ID, "first"))
	if s.must(err); trail.Status != evidence.Compliant {
		t.Errorf("the trail is %s", trail.Status)
	}
}

// failing is an object store on a disk that cannot open one object, or cannot read it.
type failing struct {
	storage.Objects
	key  string
	open bool
}

func (f failing) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if key != f.key {
		return f.Objects.Get(ctx, key, offset, length)
	}
	err := storage.Outage(storage.ObjectStore, syscall.EIO)
	if f.open {
		return io.NopCloser(iotest.ErrReader(err)), nil
	}
	return nil, err
}

func TestAnUnreadableObjectIsReportedAndAllElseIsBackedUp(t *testing.T) {
	for name, open := range map[string]bool{"it cannot be opened": false, "it cannot be read": true} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			s.record("second")
			page, err := s.objects.List(t.Context(), "", 2)
			s.must(err)
			backups := openObjects(t, t.TempDir())
			made, err := backup.Make(t.Context(), backup.Source{
				Checkpoint: s.docs.Checkpoint, Folder: filepath.Join(s.folder, "documents"), Open: openFolder,
				Objects: failing{s.objects, page[0].Key, open}, HoldDeletions: s.guarded.HoldDeletions,
			}, backups, s.output())
			s.must(err)
			if len(s.found) != 2 || !strings.Contains(s.found[0].What, "it was not copied") || !strings.Contains(s.found[0].What, "the disk cannot read it") {
				t.Errorf("found %v", s.found)
			}
			if made.Verified.Findings != 1 {
				t.Errorf("%d findings in the backup", made.Verified.Findings)
			}
			_, err = backups.Stat(t.Context(), page[1].Key)
			s.must(err)
		})
	}
}

// TestADamagedFileOfABackupIsNotRestored alters each file of the database in the backup.
func TestADamagedFileOfABackupIsNotRestored(t *testing.T) {
	s := newService(t)
	folder := t.TempDir()
	backups := openObjects(t, folder)
	made, err := s.backUp(backups)
	s.must(err)
	for _, file := range made.Files {
		path := filepath.Join(folder, file.Key)
		content, err := os.ReadFile(path)
		s.must(err)
		s.must(os.WriteFile(path, append([]byte("x"), content...), 0o600))
		target := t.TempDir()
		if err := s.restore(backups, "", target); err == nil || !strings.Contains(err.Error(), "restore the file ") {
			t.Errorf("%s: %v", file.Name, err)
		}
		s.must(os.WriteFile(path, content, 0o600))
	}
}

// gone is an object store that lists objects but does not find them.
type gone struct{ storage.Objects }

func (gone) Get(context.Context, string, int64, int64) (io.ReadCloser, error) {
	return nil, storage.ErrNotFound
}

func TestMissingObjectIsReportedOnlyIfADocumentNamesIt(t *testing.T) {
	s := newService(t)
	_, err := s.objects.Put(t.Context(), "probe", strings.NewReader("named by nothing"), -1)
	s.must(err)
	made, err := backup.Make(t.Context(), backup.Source{
		Checkpoint: s.docs.Checkpoint, Folder: filepath.Join(s.folder, "documents"), Open: openFolder,
		Objects: gone{s.objects}, HoldDeletions: s.guarded.HoldDeletions,
	}, openObjects(t, t.TempDir()), s.output())
	s.must(err)
	if made.Verified.Findings != 1 || len(s.found) != 1 || !strings.HasPrefix(s.found[0].Where, "attestations/") {
		t.Errorf("found %v", s.found)
	}
}

func TestADamagedManifestDoesNotHideOtherBackups(t *testing.T) {
	s := newService(t)
	folder := filepath.Join(t.TempDir(), "backups")
	backups := openObjects(t, folder)
	s.record("one")
	first, err := s.backUp(backups)
	s.must(err)
	manifests, err := filepath.Glob(filepath.Join(folder, "backup-manifests", "sha256", "*", "*"))
	s.must(err)
	s.now = s.now.Add(time.Hour)
	s.record("two")
	second, err := s.backUp(backups)
	s.must(err)
	content, err := os.ReadFile(manifests[0])
	s.must(err)
	// It is valid JSON, and claims to be of another time.
	s.must(os.WriteFile(manifests[0], []byte(strings.Replace(string(content), `"made_at": "20`, `"made_at": "21`, 1)), 0o600))
	if _, err := backup.Choose(t.Context(), backups, ""); err == nil || !strings.Contains(err.Error(), second.Name()) {
		t.Errorf("chose the last one: %v", err)
	}
	if chosen, err := backup.Choose(t.Context(), backups, second.Name()); err != nil || chosen.Name() != second.Name() {
		t.Errorf("got %s, %v", chosen.Name(), err)
	}
	if _, err := backup.Choose(t.Context(), backups, first.Name()); err == nil {
		t.Error("chose the damaged one")
	}
}
