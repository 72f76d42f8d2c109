// Package sessions keeps the sessions of people who are signed in to the pages.
package sessions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"attestry/evidence"
	"attestry/storage"
)

const (
	// timeout bounds what is done about one session.
	timeout = 5 * time.Second
	// expiredBatch is how many expired sessions are deleted whenever one is stored.
	expiredBatch = 20
)

var schema = &storage.Schema{
	Name:    "sessions",
	Fields:  []string{"expires_at"},
	Indexes: []storage.Index{{Name: "expiry", Fields: []string{"expires_at"}}},
}

// Schemas declares the collection.
func Schemas() []*storage.Schema { return []*storage.Schema{schema} }

// session is a session that is stored. Its id is a hash, so that nobody who reads the database can
// take it over.
type session struct {
	ID   string `json:"id"`
	Data []byte `json:"data"`
	// Ended tells that the session was deleted. It is kept until it expires, so that a request that was under
	// way meanwhile does not bring it back.
	Ended     bool    `json:"ended,omitempty"`
	ExpiresAt float64 `json:"expires_at"` // Unix seconds
}

// Sessions keeps sessions by their ids. It is what fiber's middleware for sessions calls a storage.
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

func hashOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// Get returns the data of a session, nil if there is none or if it has expired.
func (s *Sessions) Get(id string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	found, err := s.collection.Get(ctx, hashOf(id))
	if errors.Is(err, storage.ErrNotFound) || err == nil && (found.Ended || found.ExpiresAt <= evidence.Seconds(s.clock())) {
		return nil, nil
	}
	return found.Data, err
}

// Set stores the data of a session for a lifetime at least, and deletes some sessions that have expired.
// A session that was deleted stays so.
func (s *Sessions) Set(id string, data []byte, lifetime time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	now := s.clock()
	if err := s.deleteExpired(ctx, now); err != nil {
		return err
	}
	end := evidence.Seconds(now.Add(lifetime))
	_, err := storage.Upsert(ctx, s.collection, hashOf(id), func() session { return session{ID: hashOf(id)} }, func(known *session) error {
		if !known.Ended {
			known.Data, known.ExpiresAt = data, max(known.ExpiresAt, end)
		}
		return nil
	})
	return err
}

// deleteExpired deletes some sessions that have expired.
func (s *Sessions) deleteExpired(ctx context.Context, now time.Time) error {
	expired, _, err := s.collection.FindFields(ctx, storage.Query{
		Index: "expiry", To: &storage.Bound{Value: evidence.Seconds(now)}, Limit: expiredBatch,
	})
	if err != nil || len(expired) == 0 {
		return err
	}
	ids := make([]string, 0, len(expired))
	for _, one := range expired {
		ids = append(ids, one.ID)
	}
	return s.collection.Delete(ctx, ids...)
}

// Extend gives a session another lifetime from now on. One that is not there, or has been ended
// meanwhile, stays so.
func (s *Sessions) Extend(ctx context.Context, id string, lifetime time.Duration) error {
	return s.update(ctx, id, func(known *session) { known.ExpiresAt = evidence.Seconds(s.clock().Add(lifetime)) })
}

// Delete ends a session.
func (s *Sessions) Delete(id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return s.update(ctx, id, func(known *session) { known.Ended, known.Data = true, nil })
}

// update changes a session if it is there.
func (s *Sessions) update(ctx context.Context, id string, change func(*session)) error {
	_, err := s.collection.Update(ctx, hashOf(id), func(known *session) error {
		change(known)
		return nil
	})
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	return err
}

// Reset is not needed: sessions end one by one.
func (s *Sessions) Reset() error { return errors.ErrUnsupported }

// Close has nothing to free.
func (s *Sessions) Close() error { return nil }
