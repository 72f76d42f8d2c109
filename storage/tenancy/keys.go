package tenancy

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
)

var keySchema = &storage.Schema{
	Name:   "keys",
	Fields: []string{"owner_id", "ends"},
	Indexes: []storage.Index{
		{Name: "ends", Fields: []string{"owner_id", "ends"}},
	},
}

// neverEnds is the end of keys without one, in the index. It is later than evidence.MaxKeyExpiry.
const neverEnds = 1 << 40

func keyFields(k *evidence.Key) map[string]any {
	return map[string]any{"owner_id": k.OwnerID, "ends": cmp.Or(k.Ends(), neverEnds)}
}

// knownKey is a key as read, and when its last use was noted.
type knownKey struct {
	key  evidence.Key
	used atomic.Int64 // Unix seconds
}

// Authenticate returns the principal of a secret. Malformed, unknown, expired and revoked ones are Unauthorized with
// one text; what is no key at all is evidence.ErrUnknownKey. An expiry, and a revocation by this process, act at once.
// One by another process acts within a second, or within tenancyCacheAge if that process ended before it could store
// it.
func (t *Tenancy) Authenticate(ctx context.Context, secret string) (evidence.Principal, error) {
	if secret == "" || evidence.MistypedAPIKey(secret) {
		return evidence.Principal{}, evidence.ErrUnknownKey
	}
	return t.AuthenticateHash(ctx, evidence.HashAPIKey(secret))
}

// AuthenticateHash is Authenticate for the hash of a key, which sessions have.
func (t *Tenancy) AuthenticateHash(ctx context.Context, hash string) (evidence.Principal, error) {
	now := t.clock()
	if err := t.version.look(ctx, now, t.forget); err != nil {
		return evidence.Principal{}, err
	}
	known, err := t.knownKey(ctx, hash, now)
	if err != nil {
		return evidence.Principal{}, err
	}
	if !known.key.ActiveAt(now.Unix()) {
		return evidence.Principal{}, invalidKey()
	}
	t.noteUse(known, now.Unix())
	return known.key.Principal(), nil
}

func (t *Tenancy) knownKey(ctx context.Context, hash string, now time.Time) (*knownKey, error) {
	known, version, ok := t.knownKeys.Get(hash, now)
	if ok {
		return known, nil
	}
	_, noVersion, ok := t.unknownKeys.Get(hash, now)
	if ok {
		return nil, evidence.ErrUnknownKey
	}
	key, err := t.keys.Get(ctx, hash)
	if errors.Is(err, storage.ErrNotFound) {
		t.unknownKeys.Put(hash, struct{}{}, now, noVersion)
		return nil, evidence.ErrUnknownKey
	}
	if err != nil {
		return nil, maskHash(err, hash)
	}
	there, err := t.ownerExists(ctx, &key)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, invalidKey()
	}
	known = &knownKey{key: key}
	known.used.Store(key.LastUsedAt)
	t.knownKeys.Put(hash, known, now, version)
	return known, nil
}

// noteUse queues the use of a key, unless one was within the minute. A failed write is repeated when the key is next
// read.
func (t *Tenancy) noteUse(known *knownKey, now int64) {
	last := known.used.Load()
	if now-last < keyUseInterval || !known.used.CompareAndSwap(last, now) {
		return
	}
	t.uses.note(known.key, now)
}

func (t *Tenancy) newKey(owner identity.KeyOwner, secret evidence.Secret, asked NewKey) evidence.Key {
	key := evidence.Key{
		ID: evidence.NewID(), Hash: evidence.HashAPIKey(secret.Reveal()), OwnerID: owner.ID, OwnerName: owner.Name,
		Description: asked.Description, CreatedAt: t.clock().Unix(), ExpiresAt: asked.ExpiresAt,
	}
	if owner.ServiceAccount {
		key.AccountOrgID = owner.OrgID
	}
	return key
}

func invalidKey() error { return evidence.NewError(evidence.Unauthorized, evidence.InvalidKeyMessage) }

// maskHash removes a hash from an error's text, since a short declared key could be guessed from it.
func maskHash(err error, hash string) error {
	if err == nil || !strings.Contains(err.Error(), hash) {
		return err
	}
	return &maskedError{text: strings.ReplaceAll(err.Error(), hash, "[hash]"), err: err}
}

type maskedError struct {
	text string
	err  error
}

func (e *maskedError) Error() string { return e.text }

func (e *maskedError) Unwrap() error { return e.err }
