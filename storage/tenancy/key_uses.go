package tenancy

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"attestry/evidence"
	"attestry/goroutine"
	"attestry/storage"
)

const (
	// keyUseInterval is the precision of last_used_at in seconds: a key is written at most once in it.
	keyUseInterval = 60
	// keyUseTimeout bounds one write.
	keyUseTimeout = 5 * time.Second
	// maxKeyUses bounds how many uses may wait. Others are dropped, and recorded once their key is read again.
	maxKeyUses = 10_000
)

// keyUses writes when keys were last used, one at a time and outside of requests.
type keyUses struct {
	keys   storage.Collection[evidence.Key]
	logger *slog.Logger

	mu      sync.Mutex
	waiting int
	closed  bool
	writers goroutine.Group
	// writing is held during a write.
	writing sync.Mutex
}

// record queues the write of a use of a key at a time in Unix seconds.
func (u *keyUses) record(key evidence.Key, at int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed || u.waiting >= maxKeyUses {
		return
	}
	u.waiting++
	u.writers.Go(func() error {
		if err := goroutine.Recovered(func() error { return u.write(key.Hash, at) }); err != nil {
			u.logger.Warn("the use of an API key was not recorded", "key_id", key.ID, "error", maskHash(err, key.Hash))
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		u.waiting--
		return nil
	})
}

// close waits until all queued uses are written; later ones are dropped.
func (u *keyUses) close() {
	u.mu.Lock()
	u.closed = true
	u.mu.Unlock()
	_ = u.writers.Wait() // each use that is not recorded is logged
}

// write changes nothing if another process wrote within the interval.
func (u *keyUses) write(hash string, at int64) error {
	u.writing.Lock()
	defer u.writing.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), keyUseTimeout)
	defer cancel()
	_, err := u.keys.Update(ctx, hash, func(key *evidence.Key) error {
		if at-key.LastUsedAt >= keyUseInterval {
			key.LastUsedAt = at
		}
		return nil
	})
	return err
}
