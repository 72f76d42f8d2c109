package sessions_test

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"attestry/evidence/evidencetest"
	"attestry/evidence/identity"
	"attestry/storage"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/sessions"
	"attestry/storage/storagetest"
)

func newSessions(t *testing.T) (*sessions.Sessions, *evidencetest.Clock, storage.Documents) {
	t.Helper()
	docs := pebbletest.Open(t, filepath.Join(t.TempDir(), "documents"), sessions.Schemas())
	clock := evidencetest.NewSteppingClock(time.Unix(1_790_000_000, 0), time.Millisecond)
	return sessions.New(docs, clock.Now), clock, docs
}

// want checks the user of a session; "" means that there is no session.
func want(t *testing.T, s *sessions.Sessions, id, user string) {
	t.Helper()
	if got, ok, err := s.Get(t.Context(), id); err != nil || ok != (user != "") || ok && got.User != user {
		t.Errorf("session %s is %+v, %t, %v, want one of %q", id, got, ok, err, user)
	}
}

// begin stores a session of a user for an hour.
func begin(t *testing.T, s *sessions.Sessions, id, user string) {
	t.Helper()
	evidencetest.Must(t, s.Begin(t.Context(), id, identity.Session{User: user}, time.Hour))
}

func TestSessionsAreKeptUntilTheyExpireOrEnd(t *testing.T) {
	s, clock, _ := newSessions(t)
	begin(t, s, "a", "ada")
	begin(t, s, "b", "bob")
	want(t, s, "a", "ada")
	want(t, s, "c", "")
	evidencetest.Must(t, s.End(t.Context(), "b"))
	want(t, s, "b", "")
	clock.Advance(59 * time.Minute)
	for _, id := range []string{"a", "b"} {
		evidencetest.Must(t, s.Extend(t.Context(), id, time.Hour))
	}
	clock.Advance(59 * time.Minute)
	want(t, s, "a", "ada")
	want(t, s, "b", "")
	clock.Advance(2 * time.Minute)
	want(t, s, "a", "")
}

func TestExpiredSessionsAreDeletedAndIDsAreNotStored(t *testing.T) {
	s, clock, docs := newSessions(t)
	for _, id := range []string{"first-id", "second-id"} {
		begin(t, s, id, "ada")
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

func TestSessionsOfEarlierVersionsAreInvalid(t *testing.T) {
	s, clock, docs := newSessions(t)
	hash := sha256.Sum256([]byte("old"))
	id := hex.EncodeToString(hash[:])
	stored := storage.Record{
		ID: id, Revision: 1, Body: []byte(`{"id":"` + id + `","data":"AAECAw==","expires_at":1790003600}`),
		Fields: map[string]any{"expires_at": 1790003600.0},
	}
	evidencetest.Must(t, storagetest.Put(t.Context(), docs, sessions.Schemas()[0], stored))
	want(t, s, "old", "")
	evidencetest.Check(t, s.Extend(t.Context(), "old", time.Hour))
	clock.Advance(2 * time.Hour)
	begin(t, s, "new", "ada")
	if records, err := docs.List(t.Context(), sessions.Schemas()[0], "", 10, 1<<20); err != nil || len(records) != 1 || records[0].ID == id {
		t.Errorf("stored are %v, %v", records, err)
	}
}
