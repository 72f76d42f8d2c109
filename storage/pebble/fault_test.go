package pebble

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"attestry/evidence/evidencetest"
	"attestry/storage"
)

// The operations that a faultyDisk can refuse.
const (
	opCreate = "create"
	opWrite  = "write"
	opSync   = "sync"
)

// faultyDisk is a file system of the operating system that fails on demand.
type faultyDisk struct {
	vfs.FS
	mu     sync.Mutex
	fault  func(operation, name string) error
	passed chan struct{}
	before func(operation string)
	counts map[string]int
}

func newFaultyDisk() *faultyDisk {
	return &faultyDisk{FS: vfs.Default, counts: map[string]int{}}
}

// fail makes an operation fail if fault returns an error; with a nil fault all succeed. The returned channel is closed
// by the next operation after fault became nil.
func (d *faultyDisk) fail(fault func(operation, name string) error) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault, d.passed = fault, make(chan struct{})
	return d.passed
}

func (d *faultyDisk) count(operation string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts[operation]
}

// hold calls a function before every operation, which may block it.
func (d *faultyDisk) hold(before func(operation string)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before = before
}

func (d *faultyDisk) check(operation, name string) error {
	d.mu.Lock()
	before := d.before
	d.mu.Unlock()
	if before != nil {
		before(operation)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts[operation]++
	if d.fault != nil {
		return d.fault(operation, name)
	}
	if d.passed != nil {
		close(d.passed)
		d.passed = nil
	}
	return nil
}

func (d *faultyDisk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := d.check(opCreate, name); err != nil {
		return nil, err
	}
	return d.wrap(name)(d.FS.Create(name, category))
}

func (d *faultyDisk) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := d.check(opCreate, name); err != nil {
		return nil, err
	}
	return d.wrap(name)(d.FS.ReuseForWrite(old, name, category))
}

func (d *faultyDisk) OpenDir(name string) (vfs.File, error) {
	return d.wrap(name)(d.FS.OpenDir(name))
}

func (d *faultyDisk) wrap(name string) func(vfs.File, error) (vfs.File, error) {
	return func(f vfs.File, err error) (vfs.File, error) {
		if err != nil {
			return nil, err
		}
		return &faultyFile{File: f, disk: d, name: name}, nil
	}
}

type faultyFile struct {
	vfs.File
	disk *faultyDisk
	name string
}

func (f *faultyFile) Write(data []byte) (int, error) {
	if err := f.disk.check(opWrite, f.name); err != nil {
		return 0, err
	}
	return f.File.Write(data)
}

func (f *faultyFile) Sync() error {
	if err := f.disk.check(opSync, f.name); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *faultyFile) SyncData() error {
	if err := f.disk.check(opSync, f.name); err != nil {
		return err
	}
	return f.File.SyncData()
}

func plainSchema() *storage.Schema {
	return &storage.Schema{
		Name: "things", Fields: []string{"org"},
		Indexes: []storage.Index{{Name: "org", Fields: []string{"org"}}},
	}
}

func plain(id string) storage.Record {
	return storage.Record{ID: id, Revision: 1, Fields: map[string]any{"org": "o"}, Body: []byte(`"` + id + `"`)}
}

func large(id string) storage.Record {
	record := plain(id)
	record.Body = make([]byte, 100_000)
	for i := range record.Body {
		record.Body[i] = byte(i * i >> 5)
	}
	return record
}

// bulky returns a large record whose body does not compress.
func bulky(id string) storage.Record {
	record := large(id)
	noise := rand.NewPCG(1, 2)
	for i := range record.Body {
		record.Body[i] = byte(noise.Uint64())
	}
	return record
}

func openOn(t *testing.T, folder string, disk vfs.FS, schemas ...*storage.Schema) *DB {
	t.Helper()
	if schemas == nil {
		schemas = []*storage.Schema{plainSchema()}
	}
	db, err := Open(t.Context(), Options{Folder: folder, FileSystem: disk}, schemas)
	evidencetest.Must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// openFaulty opens a new database on a disk that can fail.
func openFaulty(t *testing.T) (*DB, *faultyDisk) {
	t.Helper()
	disk := newFaultyDisk()
	return openOn(t, t.TempDir(), disk), disk
}

// mustHave checks that documents, and no others, are stored and in the index.
func mustHave(t *testing.T, db *DB, ids ...string) {
	t.Helper()
	mustHaveAtLeast(t, db, 0, ids...)
}

// mustHaveAtLeast is mustHave, but allows so many more documents, which may be stored although they were refused.
func mustHaveAtLeast(t *testing.T, db *DB, more int, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if got, err := db.Get(t.Context(), plainSchema(), id); err != nil || got.Revision != 1 {
			t.Errorf("%s: %v", id, err)
		}
	}
	page, err := db.Find(t.Context(), plainSchema(), storage.Query{Index: "org", Equal: []any{"o"}, Limit: storage.MaxMany})
	if n := len(page.Records); err != nil || n < len(ids) || n > len(ids)+more {
		t.Errorf("the index has %d entries, want %d: %v", len(page.Records), len(ids), err)
	}
}
