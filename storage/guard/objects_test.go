package guard_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/storage/guard"
	"attestry/storage/storagetest"
)

// fixture is a guard with its log, clock and metrics.
type fixture struct {
	*guard.Guard
	log     *bytes.Buffer
	now     time.Time
	metrics *prometheus.Registry
}

func newFixture() *fixture {
	b := &fixture{log: &bytes.Buffer{}, now: time.Unix(1e9, 0), metrics: prometheus.NewRegistry()}
	b.Guard = guard.New(func() time.Time { return b.now }, slog.New(slog.NewTextHandler(b.log, nil)), b.metrics)
	return b
}

// damagedReads returns the counter of damaged reads of a store.
func (b *fixture) damagedReads(t *testing.T, store string) float64 {
	t.Helper()
	families, err := b.metrics.Gather()
	evidencetest.Must(t, err)
	for _, metric := range families[0].GetMetric() {
		if metric.GetLabel()[0].GetValue() == store {
			return metric.GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric of %s", store)
	return 0
}

func openFiles(t *testing.T, dir string) storage.Objects {
	t.Helper()
	store, err := filesystem.Open(dir)
	evidencetest.Must(t, err)
	t.Cleanup(func() { store.Close() })
	return store
}

func TestGuardedObjectsConform(t *testing.T) {
	storagetest.Objects(t, func(t *testing.T) storagetest.ObjectStore {
		dir := t.TempDir()
		guarded := newFixture().Objects(openFiles(t, dir))
		return storagetest.ObjectStore{Objects: guarded, Keys: func() []string { return storagetest.FileKeys(t, dir) }}
	})
}

// sizes are of objects that the guard buffers while it verifies them, and of larger ones that it reads twice.
var sizes = map[string]int{"empty": 0, "short": 1000, "held back": 256 << 10, "one byte more": 256<<10 + 1, "long": 1 << 20}

var ranges = map[string]struct{ offset, length int64 }{
	"all": {0, -1}, "nothing": {0, 0}, "the beginning": {0, 10}, "the end": {900, -1}, "most": {5, 600_000},
}

func TestAlteredObjectsAreNeverRead(t *testing.T) {
	alterations := map[string]func(t *testing.T, file string){
		"a changed byte":   func(t *testing.T, file string) { edit(t, file, func(b []byte) []byte { b[len(b)-1] ^= 1; return b }) },
		"a missing end":    func(t *testing.T, file string) { edit(t, file, func(b []byte) []byte { return b[:len(b)-1] }) },
		"no content":       func(t *testing.T, file string) { edit(t, file, func([]byte) []byte { return nil }) },
		"a byte more":      func(t *testing.T, file string) { edit(t, file, func(b []byte) []byte { return append(b, 0) }) },
		"no file any more": func(t *testing.T, file string) { evidencetest.Must(t, os.Remove(file)) },
	}
	for size, n := range sizes {
		for alteration, alter := range alterations {
			if n == 0 && alteration != "a byte more" && alteration != "no file any more" {
				continue
			}
			t.Run(size+" with "+alteration, func(t *testing.T) {
				b, dir := newFixture(), t.TempDir()
				store := b.Objects(openFiles(t, dir))
				object, err := store.Put(t.Context(), "org", strings.NewReader(strings.Repeat("x", n)), -1)
				evidencetest.Must(t, err)
				alter(t, filepath.Join(dir, object.Key))
				for name, r := range ranges {
					content, err := store.Get(t.Context(), object.Key, r.offset, r.length)
					if !errors.Is(err, storage.ErrDamaged) && !errors.Is(err, storage.ErrNotFound) {
						t.Errorf("Get of %s gave %v, %v", name, content, err)
					}
				}
				if got := b.damagedReads(t, "object store"); got != float64(len(ranges)) {
					t.Errorf("%v reads are counted as damaged", got)
				}
				if !strings.Contains(b.log.String(), object.Key) {
					t.Errorf("%s is not in the log: %s", object.Key, b.log)
				}
			})
		}
	}
}

func TestErrorForDamagedObjectNamesItsSHA256(t *testing.T) {
	dir := t.TempDir()
	store := newFixture().Objects(openFiles(t, dir))
	object, err := store.Put(t.Context(), "org", strings.NewReader("content"), -1)
	evidencetest.Must(t, err)
	edit(t, filepath.Join(dir, object.Key), func(b []byte) []byte { return b[1:] })
	_, err = store.Get(t.Context(), object.Key, 0, -1)
	var client *evidence.Error
	if !errors.As(err, &client) || client.Code != evidence.Damaged || !strings.Contains(client.Message, object.SHA256) {
		t.Errorf("clients read %+v", client)
	}
}

// changing alters an object for all readers but the first.
type changing struct {
	storage.Objects
	second func([]byte) []byte
	reads  int
}

func (c *changing) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	content, err := c.Objects.Get(ctx, key, offset, length)
	if c.reads++; c.reads < 2 || err != nil {
		return content, err
	}
	altered, err := io.ReadAll(content)
	return io.NopCloser(bytes.NewReader(c.second(altered))), errors.Join(err, content.Close())
}

// The last bytes must not be sent, so that no client takes the content for complete.
func TestReadOfAnObjectThatChangesMeanwhileIsTruncated(t *testing.T) {
	const size = 1 << 20
	for name, change := range map[string]func([]byte) []byte{
		"in its first byte":    func(b []byte) []byte { b[0] ^= 1; return b },
		"in its last byte":     func(b []byte) []byte { b[size-1] ^= 1; return b },
		"to a shorter one":     func(b []byte) []byte { return b[:size-1] },
		"to a much shorter":    func(b []byte) []byte { return b[:10] },
		"to a longer one":      func(b []byte) []byte { return append(b, 0) },
		"into an empty object": func([]byte) []byte { return nil },
	} {
		for requested, r := range map[string]struct{ offset, length int64 }{"all": {0, -1}, "a range": {1000, 500_000}} {
			t.Run(name+", "+requested, func(t *testing.T) {
				b := newFixture()
				store := b.Objects(&changing{Objects: openFiles(t, t.TempDir()), second: change})
				object, err := store.Put(t.Context(), "org", strings.NewReader(strings.Repeat("x", size)), -1)
				evidencetest.Must(t, err)
				content, err := store.Get(t.Context(), object.Key, r.offset, r.length)
				evidencetest.Must(t, err)
				defer content.Close()
				sent, err := io.Copy(io.Discard, content)
				if !errors.Is(err, storage.ErrDamaged) || r.length >= 0 && sent > r.length-256<<10 || sent > size-256<<10 {
					t.Errorf("%d bytes left, then %v", sent, err)
				}
				if got := b.damagedReads(t, "object store"); got != 1 {
					t.Errorf("%v reads are counted as damaged", got)
				}
			})
		}
	}
}

// refusing refuses every Put while it is full.
type refusing struct {
	storage.Objects
	full bool
}

func (r *refusing) Put(ctx context.Context, scope string, content io.Reader, size int64) (storage.Object, error) {
	if r.full {
		return storage.Object{}, storage.RefuseWrite(storage.ObjectStore, storage.DiskFull, errors.New("no space left on device"))
	}
	return r.Objects.Put(ctx, scope, content, size)
}

func TestObjectStorePingFailsAfterARefusedWriteUntilAProbeSucceeds(t *testing.T) {
	dir := t.TempDir()
	engine := &refusing{Objects: openFiles(t, dir), full: true}
	b := newFixture()
	store := b.Objects(engine)
	evidencetest.Must(t, store.Ping(t.Context()))
	if _, err := store.Put(t.Context(), "org", strings.NewReader("x"), 1); evidence.CodeOf(err) != evidence.Unavailable {
		t.Fatalf("Put returned %v", err)
	}
	for range 2 {
		if err := store.Ping(t.Context()); !errors.Is(err, storage.ErrWriteRefused) {
			t.Errorf("Ping of a full store returned %v", err)
		}
	}
	engine.full = false
	b.now = b.now.Add(5 * time.Second)
	evidencetest.Must(t, store.Ping(t.Context()))
	engine.full = true // no write was refused since
	evidencetest.Must(t, store.Ping(t.Context()))
	if left := storagetest.FileKeys(t, dir); len(left) > 0 {
		t.Errorf("the probe left %q", left)
	}
	if log := b.log.String(); strings.Count(log, "refuses writes") != 1 || strings.Count(log, "takes writes again") != 1 {
		t.Errorf("logged %s", log)
	}
}

func edit(t *testing.T, file string, change func([]byte) []byte) {
	t.Helper()
	content, err := os.ReadFile(file)
	evidencetest.Must(t, err)
	evidencetest.Must(t, os.WriteFile(file, change(content), 0o600))
}

// unreadable fails when an object is opened, or after its first byte.
type unreadable struct {
	storage.Objects
	opening, reading error
}

func (u *unreadable) Get(context.Context, string, int64, int64) (io.ReadCloser, error) {
	content := io.MultiReader(strings.NewReader("x"), iotest.ErrReader(u.reading))
	return io.NopCloser(content), u.opening
}

func TestUnreadableObjectsAreDamagedOrUnavailable(t *testing.T) {
	for name, test := range map[string]struct {
		engine  unreadable
		want    evidence.Code
		damaged float64
	}{
		"a disk that fails on opening": {unreadable{opening: storage.Outage(storage.ObjectStore, syscall.EIO)}, evidence.Damaged, 1},
		"a disk that fails on reading": {unreadable{reading: storage.Outage(storage.ObjectStore, syscall.EIO)}, evidence.Damaged, 1},
		"missing rights":               {unreadable{opening: storage.Outage(storage.ObjectStore, syscall.EACCES)}, evidence.Unavailable, 0},
		"a body that is cut off":       {unreadable{reading: storage.Outage(storage.ObjectStore, io.ErrUnexpectedEOF)}, evidence.Unavailable, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newFixture()
			store := b.Objects(&test.engine)
			_, err := store.Get(t.Context(), storage.ObjectKey("org", strings.Repeat("ab", 32)), 0, -1)
			if evidence.CodeOf(err) != test.want || errors.Is(err, storage.ErrOutage) == (test.damaged > 0) {
				t.Errorf("got %v", err)
			}
			if got := b.damagedReads(t, "object store"); got != test.damaged {
				t.Errorf("%v reads are counted as damaged", got)
			}
		})
	}
}

func TestDirectoryInsteadOfAnObjectFileIsDamage(t *testing.T) {
	b, dir := newFixture(), t.TempDir()
	store := b.Objects(openFiles(t, dir))
	key := storage.ObjectKey("org", strings.Repeat("ab", 32))
	evidencetest.Must(t, os.MkdirAll(filepath.Join(dir, key), 0o700))
	if _, err := store.Get(t.Context(), key, 0, -1); !errors.Is(err, storage.ErrDamaged) || b.damagedReads(t, "object store") != 1 {
		t.Errorf("got %v", err)
	}
}

// keeping refuses every deletion.
type keeping struct{ refusing }

func (k *keeping) Delete(context.Context, string) error {
	return storage.RefuseWrite(storage.ObjectStore, storage.PermissionDenied, errors.New("AccessDenied"))
}

func TestObjectStoreThatRefusesOnlyDeletionsIsReady(t *testing.T) {
	engine := &keeping{refusing{Objects: openFiles(t, t.TempDir()), full: true}}
	b := newFixture()
	store := b.Objects(engine)
	if _, err := store.Put(t.Context(), "org", strings.NewReader("x"), 1); !errors.Is(err, storage.ErrWriteRefused) {
		t.Fatal(err)
	}
	engine.full = false
	evidencetest.Must(t, store.Ping(t.Context()))
	if log := b.log.String(); !strings.Contains(log, "cannot be deleted") || !strings.Contains(log, "AccessDenied") {
		t.Errorf("logged %s", log)
	}
}
