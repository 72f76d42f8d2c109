package sessions_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/sessions"
	"attestry/storage/sqlite/sqlitetest"
)

func newSessions(t *testing.T) (*sessions.Sessions, *evidencetest.Clock, storage.Documents) {
	t.Helper()
	docs := sqlitetest.Open(t, filepath.Join(t.TempDir(), "test.db"), sessions.Schemas())
	clock := evidencetest.NewSteppingClock(time.Unix(1_790_000_000, 0), time.Millisecond)
	return sessions.New(docs, clock.Now), clock, docs
}

func want(t *testing.T, s *sessions.Sessions, id, data string) {
	t.Helper()
	if got, err := s.Get(id); err != nil || string(got) != data {
		t.Errorf("session %s has %q, %v, want %q", id, got, err, data)
	}
}

func TestSessionsAreKeptUntilTheyExpireOrAreDeleted(t *testing.T) {
	s, clock, _ := newSessions(t)
	for _, id := range []string{"a", "b"} {
		if err := s.Set(id, []byte("of "+id), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	want(t, s, "a", "of a")
	want(t, s, "c", "")
	if err := s.Delete("b"); err != nil {
		t.Fatal(err)
	}
	want(t, s, "b", "")
	clock.Advance(59 * time.Minute)
	for _, id := range []string{"a", "b"} {
		if err := s.Extend(t.Context(), id, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	clock.Advance(59 * time.Minute)
	want(t, s, "a", "of a")
	want(t, s, "b", "")
	clock.Advance(2 * time.Minute)
	want(t, s, "a", "")
}

func TestExpiredSessionsAreDeletedAndIDsAreNotStored(t *testing.T) {
	s, clock, docs := newSessions(t)
	for _, id := range []string{"first-id", "second-id"} {
		if err := s.Set(id, nil, time.Hour); err != nil {
			t.Fatal(err)
		}
		clock.Advance(2 * time.Hour)
	}
	records, err := docs.List(t.Context(), sessions.Schemas()[0], "", 10, 1<<20)
	if err != nil || len(records) != 1 {
		t.Fatalf("%d sessions are stored, %v", len(records), err)
	}
	if strings.Contains(string(records[0].Body)+records[0].ID, "second-id") {
		t.Error("the id of a session is stored")
	}
}

func TestRequestUnderWayDoesNotBringASessionBackThatHasEnded(t *testing.T) {
	s, clock, _ := newSessions(t)
	for _, change := range []func() error{
		func() error { return s.Set("a", []byte("of a"), time.Hour) },
		func() error { return s.Delete("a") },
		func() error { return s.Set("a", []byte("of a"), 2*time.Hour) },
		func() error { return s.Extend(t.Context(), "a", 2*time.Hour) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
	}
	want(t, s, "a", "")
	clock.Advance(3 * time.Hour)
	want(t, s, "a", "")
}

func TestStoringASessionDoesNotShortenItsLife(t *testing.T) {
	s, clock, _ := newSessions(t)
	for _, lifetime := range []time.Duration{12 * time.Hour, time.Hour} {
		if err := s.Set("a", []byte("of a"), lifetime); err != nil {
			t.Fatal(err)
		}
	}
	clock.Advance(11 * time.Hour)
	want(t, s, "a", "of a")
}
