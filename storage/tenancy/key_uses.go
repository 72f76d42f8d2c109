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
	// keyUseInterval is how exact last_used_at is, in seconds: a key in steady use is written no more often.
	keyUseInterval = 60
	// keyUseTimeout bounds one write.
	keyUseTimeout = 5 * time.Second
	// maxKeyUses bounds how many uses may wait. Others are dropped, and noted when their key is next read.
	maxKeyUses = 10_000
)

// keyUses writes when keys were last used, one after another and outside of requests. Waiting uses of one key become
// one write.
type keyUses struct {
	keys   storage.Collection[evidence.Key]
	logger *slog.Logger

	mu      sync.Mutex
	waiting map[string]keyUse
	writing bool
	closed  bool
	writer  goroutine.Group
}

type keyUse struct {
	keyID string
	at    int64 // Unix seconds
}

func newKeyUses(keys storage.Collection[evidence.Key], logger *slog.Logger) *keyUses {
	return &keyUses{keys: keys, logger: logger, waiting: map[string]keyUse{}}
}

// note queues the use of a key at a time in Unix seconds.
func (u *keyUses) note(key evidence.Key, at int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed || len(u.waiting) >= maxKeyUses {
		return
	}
	u.waiting[key.Hash] = keyUse{keyID: key.ID, at: at}
	if u.writing {
		return
	}
	u.writing = true
	u.writer.Go(func() error { u.writeAll(); return nil })
}

// close waits until all noted uses are written; later ones are not noted.
func (u *keyUses) close() {
	u.mu.Lock()
	u.closed = true
	u.mu.Unlock()
	_ = u.writer.Wait() // each use that is not recorded is logged
}

// writeAll writes until nothing waits.
func (u *keyUses) writeAll() {
	for {
		hash, use, ok := u.next()
		if !ok {
			return
		}
		if err := goroutine.Recovered(func() error { return u.write(hash, use.at) }); err != nil {
			u.logger.Warn("the use of an API key was not recorded", "key_id", use.keyID, "error", maskHash(err, hash))
		}
	}
}

func (u *keyUses) next() (string, keyUse, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for hash, use := range u.waiting {
		delete(u.waiting, hash)
		return hash, use, true
	}
	u.writing = false
	return "", keyUse{}, false
}

// write changes nothing if another process wrote within the interval.
func (u *keyUses) write(hash string, at int64) error {
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
