package pebble

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/storagetest"
)

// TestDamagedTableIsNeverReadAsSomethingElse flips bits throughout the tables of a database. Reads must return what was
// written, or report the damage.
func TestDamagedTableIsNeverReadAsSomethingElse(t *testing.T) {
	folder := t.TempDir()
	db := openOn(t, folder, nil)
	ids := []string{"a", "b", "c", "large"}
	for _, id := range ids[:3] {
		evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), plain(id)))
	}
	evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), large("large")))
	evidencetest.Must(t, db.engine.Flush())
	evidencetest.Must(t, db.Close())
	damaged := 0
	for _, table := range tablesIn(t, folder) {
		content, err := os.ReadFile(table)
		evidencetest.Must(t, err)
		for at := 0; at < len(content); at += max(len(content)/40, 1) {
			changed := bytes.Clone(content)
			changed[at] ^= 0x40
			evidencetest.Must(t, os.WriteFile(table, changed, 0o600))
			damaged += readDamaged(t, folder, ids)
		}
		evidencetest.Must(t, os.WriteFile(table, content, 0o600))
	}
	if damaged == 0 {
		t.Error("no damage was noticed")
	}
	mustHave(t, openOn(t, folder, nil), ids...)
}

// readDamaged reads all documents and returns how many reads noticed damage.
func readDamaged(t *testing.T, folder string, ids []string) (damaged int) {
	t.Helper()
	db, err := Open(t.Context(), Options{Folder: folder}, []*storage.Schema{plainSchema()})
	if err != nil {
		if !strings.Contains(err.Error(), "restore it from a backup") {
			t.Errorf("open: %v", err)
		}
		return 1
	}
	defer db.Close()
	check := func(record storage.Record, err error, id string) {
		want := plain(id)
		if id == "large" {
			want = large(id)
		}
		var client *evidence.Error
		switch {
		case err == nil && (record.ID != id || !bytes.Equal(record.Body, want.Body) || record.Fields["org"] != "o"):
			t.Errorf("%s is read as %.50v", id, record)
		case err != nil && (!errors.As(err, &client) || client.Code != evidence.Damaged || !strings.Contains(err.Error(), folder)):
			t.Errorf("%s: %v", id, err)
		case err != nil:
			damaged++
		}
	}
	for _, id := range ids {
		record, err := db.Get(t.Context(), plainSchema(), id)
		check(record, err, id)
	}
	page, err := db.Find(t.Context(), plainSchema(), storage.Query{Index: "org", Equal: []any{"o"}, Limit: 10})
	if err == nil && len(page.Records) != len(ids) {
		t.Errorf("%d documents were found", len(page.Records))
	}
	for i, record := range page.Records {
		check(record, err, ids[i])
	}
	return damaged
}

func TestWritesDoNotReplaceDamagedDocuments(t *testing.T) {
	db, _ := openFaulty(t)
	evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), plain("a")))
	c := db.collections["things"]
	record := plain("a")
	fields := appendHead(nil, plainSchema(), &record)
	fields[headBytes] = 200 // the length of a name
	for form, value := range map[string][]byte{"too short": []byte("short"), "fields": append(fields, record.Body...)} {
		evidencetest.Must(t, db.engine.Set(c.records.key("a"), value, nil))
		db.views.publish()
		for name, err := range map[string]error{
			"replace": storagetest.Replace(t.Context(), db, plainSchema(), plain("a"), 1),
			"put":     storagetest.Put(t.Context(), db, plainSchema(), plain("other"), plain("a")),
			"delete":  storagetest.Delete(t.Context(), db, plainSchema(), "a"),
		} {
			if !errors.Is(err, storage.ErrDamaged) {
				t.Errorf("%s: %s: %v", form, name, err)
			}
		}
	}
	if _, err := db.Get(t.Context(), plainSchema(), "other"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("a part of a command was written: %v", err)
	}
	evidencetest.Must(t, storagetest.Insert(t.Context(), db, plainSchema(), plain("b")))
}
