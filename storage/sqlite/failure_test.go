package sqlite

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"attestry/evidence"
	"attestry/storage"
)

// configure runs a pragma on the connection that writes.
func configure(t *testing.T, db *DB, pragma string) {
	t.Helper()
	must(t, db.writer.do(t.Context(), 0, func(s *session) error {
		_, err := s.exec(pragma)
		return err
	}))
}

// wantClientSentence checks what clients and what operators read of an error.
func wantClientSentence(t *testing.T, err error, code evidence.Code, sentence, path string) {
	t.Helper()
	var client *evidence.Error
	if !errors.As(err, &client) || client.Code != code || client.Message != sentence {
		t.Errorf("clients read %+v of %v", client, err)
	}
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("the file is not named in %v", err)
	}
}

func TestFullDatabaseRefusesWritesAndLosesNoneThatItTook(t *testing.T) {
	db, path := openFile(t)
	configure(t, db, "PRAGMA max_page_count = 100")
	body := bytes.Repeat([]byte("x"), 50_000)
	taken := 0
	var refused error
	for ; refused == nil && taken < 100; taken++ {
		refused = db.Insert(t.Context(), plainSchema(), storage.Record{ID: fmt.Sprint(taken), Revision: 1, Body: body})
	}
	taken--
	wantClientSentence(t, refused, evidence.Unavailable, "The database cannot be written to: the disk is full.", path)
	if !errors.Is(refused, storage.ErrWriteRefused) {
		t.Errorf("the class of %v is another", refused)
	}
	for i := range taken {
		if found, err := db.Get(t.Context(), plainSchema(), fmt.Sprint(i)); err != nil || !bytes.Equal(found.Body, body) {
			t.Errorf("document %d of %d: %v", i, taken, err)
		}
	}
	if _, err := db.Get(t.Context(), plainSchema(), fmt.Sprint(taken)); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("the refused document: %v", err)
	}
	configure(t, db, "PRAGMA max_page_count = 1000")
	must(t, db.Insert(t.Context(), plainSchema(), storage.Record{ID: "later", Revision: 1, Body: body}))
}

func TestReadOnlyDatabaseRefusesEveryKindOfWrite(t *testing.T) {
	db, path := openFile(t)
	must(t, db.Insert(t.Context(), plainSchema(), plain("a")))
	configure(t, db, "PRAGMA query_only = 1")
	_, insertMany := db.InsertMany(t.Context(), plainSchema(), []storage.Record{plain("b")})
	for name, err := range map[string]error{
		"Insert":     db.Insert(t.Context(), plainSchema(), plain("b")),
		"InsertMany": insertMany,
		"Put":        db.Put(t.Context(), plainSchema(), plain("b")),
		"Replace":    db.Replace(t.Context(), plainSchema(), plain("a"), 1),
		"Delete":     db.Delete(t.Context(), plainSchema(), "a"),
	} {
		t.Run(name, func(t *testing.T) {
			wantClientSentence(t, err, evidence.Unavailable, "The database cannot be written to: it is read-only.", path)
		})
	}
	if _, err := db.Get(t.Context(), plainSchema(), "a"); err != nil {
		t.Errorf("a read: %v", err)
	}
}

func TestDamagedDatabaseNamesItsFileToOperatorsOnly(t *testing.T) {
	db, path := openFile(t)
	for i := range 100 {
		must(t, db.Insert(t.Context(), plainSchema(), storage.Record{ID: fmt.Sprint(i), Revision: 1, Body: make([]byte, 1000)}))
	}
	must(t, db.Close())
	content, err := os.ReadFile(path)
	must(t, err)
	// Tables and their names are in the first pages; the documents follow.
	for i := 4 * 4096; i < len(content); i++ {
		content[i] = 0xff
	}
	must(t, os.WriteFile(path, content, 0o600))
	damaged, err := Open(t.Context(), path, []*storage.Schema{plainSchema()})
	must(t, err)
	defer damaged.Close()
	_, err = damaged.GetMany(t.Context(), plainSchema(), []string{"1", "50", "99"})
	wantClientSentence(t, err, evidence.Damaged, "The database is damaged", path)
}

func TestDatabaseThatStaysLockedIsUnavailable(t *testing.T) {
	db, path := openFile(t)
	defer holdLock(t, path)()
	other, err := sql.Open("sqlite", path)
	must(t, err)
	defer other.Close()
	_, locked := other.Exec("BEGIN IMMEDIATE")
	wantClientSentence(t, db.explainWrite(locked), evidence.Unavailable, "The database cannot be reached, please try again.", path)
}
