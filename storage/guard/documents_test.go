package guard_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/storagetest"
)

var (
	plain     = &storage.Schema{Name: "plain"}
	addressed = &storage.Schema{Name: "addressed", ContentAddressed: true}
)

func openDocuments(t *testing.T) storage.Documents {
	t.Helper()
	return pebbletest.Open(t, filepath.Join(t.TempDir(), "documents"), []*storage.Schema{plain, addressed, storage.ProbeSchema})
}

func content(body string) storage.Record {
	sum := sha256.Sum256([]byte(body))
	return storage.Record{ID: hex.EncodeToString(sum[:]), Revision: 1, Body: []byte(body)}
}

func TestContentAddressedDocumentsAreVerifiedWhenTheyAreRead(t *testing.T) {
	b := newFixture()
	docs := b.Documents(openDocuments(t))
	good, altered, other := content(`{"a":1}`), content(`{"a":2}`), content(`{"a":3}`)
	altered.Body = []byte(`{"a":4}`)
	evidencetest.Must(t, storagetest.Put(t.Context(), docs, addressed, good, altered))
	evidencetest.Must(t, storagetest.Put(t.Context(), docs, plain, altered))
	if _, err := docs.Get(t.Context(), addressed, good.ID); err != nil {
		t.Errorf("Get of an unaltered document: %v", err)
	}
	if _, err := docs.Get(t.Context(), plain, altered.ID); err != nil {
		t.Errorf("Get of a document that is not content-addressed: %v", err)
	}
	_, err := docs.Get(t.Context(), addressed, altered.ID)
	if evidence.CodeOf(err) != evidence.Damaged || !strings.Contains(err.Error(), altered.ID) {
		t.Errorf("Get of an altered document returned %v", err)
	}
	if _, err := docs.GetMany(t.Context(), addressed, []string{good.ID, altered.ID}); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("GetMany of an altered document returned %v", err)
	}
	if found, err := docs.GetMany(t.Context(), addressed, []string{good.ID, other.ID}); err != nil || len(found) != 1 {
		t.Errorf("GetMany of a lost document returned %v, %v", found, err)
	}
	if _, err := docs.List(t.Context(), addressed, "", 10, 1<<20); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("List of an altered document returned %v", err)
	}
	if got := b.damagedReads(t, "database"); got != 4 {
		t.Errorf("%v reads are counted as damaged", got)
	}
}

// fullDatabase refuses all writes but deletions while full is set.
func fullDatabase(docs storage.Documents, full *bool) storage.Documents {
	return storagetest.BeforeWrites(docs, func(write storage.Write) error {
		if *full && write.Kind != storage.WriteDelete {
			return storage.RefuseWrite(storage.Database, storage.DiskFull, errors.New("no space left on device"))
		}
		return nil
	})
}

func TestDatabasePingFailsAfterARefusedWriteUntilAProbeSucceeds(t *testing.T) {
	record := content("{}")
	for name, write := range map[string]func(ctx context.Context, docs storage.Documents) error{
		"Insert": func(ctx context.Context, docs storage.Documents) error {
			return storagetest.Insert(ctx, docs, plain, record)
		},
		"Add": func(ctx context.Context, docs storage.Documents) error {
			return storagetest.Add(ctx, docs, plain, record)
		},
		"Put": func(ctx context.Context, docs storage.Documents) error {
			return storagetest.Put(ctx, docs, plain, record)
		},
		"Replace": func(ctx context.Context, docs storage.Documents) error {
			return storagetest.Replace(ctx, docs, plain, record, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			full := true
			engine := fullDatabase(openDocuments(t), &full)
			b := newFixture()
			docs := b.Documents(engine)
			evidencetest.Must(t, docs.Ping(t.Context()))
			if err := write(t.Context(), docs); evidence.CodeOf(err) != evidence.Unavailable {
				t.Fatalf("%s returned %v", name, err)
			}
			for range 2 {
				evidencetest.Is(t, docs.Ping(t.Context()), storage.ErrWriteRefused)
			}
			full = false
			b.now = b.now.Add(5 * time.Second)
			evidencetest.Must(t, docs.Ping(t.Context()))
			full = true // no write was refused since
			evidencetest.Must(t, docs.Ping(t.Context()))
			if n, err := engine.GetMany(t.Context(), storage.ProbeSchema, []string{"probe"}); err != nil || len(n) != 0 {
				t.Errorf("the probe left %v, %v", n, err)
			}
		})
	}
}

func TestAFullDatabaseIsProbedAtMostOnceIn5Seconds(t *testing.T) {
	b := newFixture()
	full, probes := true, 0
	engine := fullDatabase(openDocuments(t), &full)
	docs := b.Documents(storagetest.BeforeWrites(engine, func(write storage.Write) error {
		if write.Kind == storage.WritePut {
			probes++
		}
		return nil
	}))
	if err := storagetest.Insert(t.Context(), docs, plain, content("{}")); !errors.Is(err, storage.ErrWriteRefused) {
		t.Fatal(err)
	}
	for _, test := range []struct {
		later  time.Duration
		full   bool
		probes int
		ready  bool
	}{
		{0, true, 1, false},
		{0, true, 1, false},
		{4999 * time.Millisecond, false, 1, false},
		{time.Millisecond, true, 2, false},
		{5 * time.Second, false, 3, true},
		{time.Second, true, 3, true},
	} {
		b.now, full = b.now.Add(test.later), test.full
		if err := docs.Ping(t.Context()); (err == nil) != test.ready || probes != test.probes {
			t.Errorf("%+v: after %d probes %v", test, probes, err)
		}
	}
}

func TestCancelledProbeKeepsTheReason(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	full := true
	engine := fullDatabase(openDocuments(t), &full)
	// Each Put of a probe is cancelled.
	docs := newFixture().Documents(storagetest.BeforeWrites(engine, func(write storage.Write) error {
		if write.Kind == storage.WritePut {
			end()
		}
		return ctx.Err()
	}))
	if err := storagetest.Insert(ctx, docs, plain, content("{}")); !errors.Is(err, storage.ErrWriteRefused) {
		t.Fatal(err)
	}
	evidencetest.Is(t, docs.Ping(ctx), context.Canceled)
	evidencetest.Is(t, docs.Ping(t.Context()), storage.ErrWriteRefused)
}

// damagedDatabase is a database whose files are damaged.
type damagedDatabase struct{ storage.Documents }

func (damagedDatabase) Get(context.Context, *storage.Schema, string) (storage.Record, error) {
	return storage.Record{}, storage.Damaged("The database is damaged", errors.New("000007.sst"))
}

func (damagedDatabase) Find(context.Context, *storage.Schema, storage.Query) (storage.Page, error) {
	return storage.Page{}, storage.Damaged("The database is damaged", errors.New("000007.sst"))
}

func (damagedDatabase) Count(context.Context, *storage.Schema, storage.Query) (int64, error) {
	return 0, storage.Damaged("The database is damaged", errors.New("000007.sst"))
}

func TestReadsOfADamagedDatabaseAreCounted(t *testing.T) {
	b := newFixture()
	docs := b.Documents(damagedDatabase{})
	if _, err := docs.Get(t.Context(), plain, "a"); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("Get returned %v", err)
	}
	if _, err := docs.Find(t.Context(), plain, storage.Query{}); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("Find returned %v", err)
	}
	if _, err := docs.Count(t.Context(), plain, storage.Query{}); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("Count returned %v", err)
	}
	if got := b.damagedReads(t, "database"); got != 3 {
		t.Errorf("%v reads are counted as damaged", got)
	}
}
