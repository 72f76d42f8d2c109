package sqlite

import (
	"context"
	"errors"
	"testing"

	"attestry/storage"
)

func TestLockedFileIsAnOutage(t *testing.T) {
	db, path := openFile(t)
	s, err := newSession(t.Context(), db.pool)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if _, err := s.exec("PRAGMA busy_timeout = 0"); err != nil {
		t.Fatal(err)
	}
	release := holdLock(t, path)
	_, err = s.exec("BEGIN IMMEDIATE")
	if release(); !errors.Is(asOutage(err), storage.ErrOutage) || !isBusy(asOutage(err)) {
		t.Errorf("got %v", err)
	}
}

func TestFullDiskIsAnOutage(t *testing.T) {
	db, _ := openFile(t)
	// No transaction uses the writer's session before the first write.
	if _, err := db.writer.session.exec("PRAGMA max_page_count = 20"); err != nil {
		t.Fatal(err)
	}
	large := plain("large")
	large.Body = make([]byte, 1<<20)
	if err := db.Insert(t.Context(), plainSchema(), large); !errors.Is(err, storage.ErrOutage) {
		t.Errorf("got %v", err)
	}
	if err := db.Insert(t.Context(), plainSchema(), plain("small")); err != nil {
		t.Errorf("what fits is refused: %v", err)
	}
}

func TestClosedDatabaseIsAnOutage(t *testing.T) {
	db, _ := openFile(t)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Get(t.Context(), plainSchema(), "a"); !errors.Is(err, storage.ErrOutage) {
		t.Errorf("read: %v", err)
	}
	if err := db.Insert(t.Context(), plainSchema(), plain("a")); !errors.Is(err, storage.ErrOutage) {
		t.Errorf("write: %v", err)
	}
}

func TestWhatTheCallerCausesIsNoOutage(t *testing.T) {
	db, _ := openFile(t)
	if err := db.Insert(t.Context(), plainSchema(), plain("a")); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	large := plain("large")
	large.Body = make([]byte, storage.MaxBody+1)
	for name, run := range map[string]func() error{
		"a missing document":  func() error { _, err := db.Get(t.Context(), plainSchema(), "none"); return err },
		"a taken id":          func() error { return db.Insert(t.Context(), plainSchema(), plain("a")) },
		"a moved revision":    func() error { return db.Replace(t.Context(), plainSchema(), plain("a"), 7) },
		"too large":           func() error { return db.Insert(t.Context(), plainSchema(), large) },
		"a caller who leaves": func() error { _, err := db.Get(ended, plainSchema(), "a"); return err },
		"a wrong statement": func() error {
			return db.read(t.Context(), func(s *session) error { _, err := s.exec("SELEC"); return err })
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(); err == nil || errors.Is(err, storage.ErrOutage) {
				t.Errorf("got %v", err)
			}
		})
	}
}
