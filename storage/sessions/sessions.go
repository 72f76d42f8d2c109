// Package sessions keeps the sessions of people who are signed in to the pages.
package sessions

import (
	"context"
	"time"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
)

// expiredBatch is how many expired sessions are deleted whenever one is stored.
const expiredBatch = 20

var schema = storage.NewSchema("sessions", storage.Index{Name: "expiry", Fields: []string{"expires_at"}})

// Schemas declares the collection.
func Schemas() []*storage.Schema { return []*storage.Schema{schema} }

// session is a stored session. Its id is a hash, so that a reader of the database cannot use it. One of an earlier
// version has no owner and is ignored.
type session struct {
	ID string `json:"id"`
	identity.Session
	ExpiresAt float64 `json:"expires_at"` // Unix seconds
}

// Sessions keeps sessions by their ids.
type Sessions struct {
	collection storage.Collection[session]
	clock      evidence.Clock
}

// New binds the repository to an engine.
func New(docs storage.Documents, clock evidence.Clock) *Sessions {
	return &Sessions{
		collection: storage.NewCollection(docs, schema,
			func(s *session) string { return s.ID },
			func(s *session) map[string]any { return map[string]any{"expires_at": s.ExpiresAt} }),
		clock: clock,
	}
}

func hashOf(id string) string { return evidence.SHA256([]byte(id)) }

// Get returns a session that has not expired; ok reports whether there is one.
func (s *Sessions) Get(ctx context.Context, id string) (found identity.Session, ok bool, err error) {
	read, err := s.collection.Get(ctx, hashOf(id))
	if err != nil {
		return found, false, storage.IgnoreMissing(err)
	}
	ok = read.ExpiresAt > evidence.Seconds(s.clock()) && read.KeyHash+read.User != ""
	return read.Session, ok, nil
}

// Begin stores a session for a lifetime, and deletes some sessions that have expired.
func (s *Sessions) Begin(ctx context.Context, id string, begun identity.Session, lifetime time.Duration) error {
	now := s.clock()
	if _, err := storage.DeleteFound(ctx, s.collection, storage.Query{
		Index: "expiry", To: &storage.Bound{Value: evidence.Seconds(now)}, Limit: expiredBatch,
	}); err != nil {
		return err
	}
	return s.collection.Insert(ctx, session{ID: hashOf(id), Session: begun, ExpiresAt: evidence.Seconds(now.Add(lifetime))})
}

// Extend sets the expiry of a session to a lifetime from now. A deleted session stays deleted.
func (s *Sessions) Extend(ctx context.Context, id string, lifetime time.Duration) error {
	_, err := s.collection.Update(ctx, hashOf(id), storage.WithoutError(func(known *session) {
		known.ExpiresAt = evidence.Seconds(s.clock().Add(lifetime))
	}))
	return storage.IgnoreMissing(err)
}

// End ends a session, if there is one.
func (s *Sessions) End(ctx context.Context, id string) error {
	return s.collection.Delete(ctx, hashOf(id))
}
