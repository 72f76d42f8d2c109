package tenancy

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"attestry/evidence"
	"attestry/evidence/identity"
	"attestry/storage"
)

var keySchema = storage.NewSchema("keys", storage.Index{Name: "ends", Fields: []string{"owner_id", "ends"}})

// neverEnds is the end of keys without one, in the index. It is later than evidence.MaxKeyExpiry.
const neverEnds = 1 << 40

func keyFields(k *evidence.Key) map[string]any {
	return map[string]any{"owner_id": k.OwnerID, "ends": cmp.Or(k.Ends(), neverEnds)}
}

// knownKey is a key as read, and when its last use was recorded.
type knownKey struct {
	key  evidence.Key
	used atomic.Int64 // Unix seconds
}

// Authenticate returns the principal of a secret. Malformed, unknown, expired and revoked ones are Unauthorized with
// one text; malformed and unknown ones are evidence.ErrUnknownKey. An expiry, and a revocation by this process, take
// effect at once. A revocation by another process does within a second, or within tenancyCacheAge if that process ended
// before it stored the new version.
func (t *Tenancy) Authenticate(ctx context.Context, secret string) (evidence.Principal, error) {
	if secret == "" || evidence.MistypedAPIKey(secret) {
		return evidence.Principal{}, evidence.ErrUnknownKey
	}
	return t.AuthenticateHash(ctx, evidence.HashAPIKey(secret))
}

// AuthenticateHash is Authenticate for the hash of a key, which sessions have.
func (t *Tenancy) AuthenticateHash(ctx context.Context, hash string) (evidence.Principal, error) {
	now, err := t.checkVersion(ctx)
	if err != nil {
		return evidence.Principal{}, err
	}
	known, err := t.knownKey(ctx, hash, now)
	if err != nil {
		return evidence.Principal{}, err
	}
	if !known.key.ActiveAt(now.Unix()) {
		return evidence.Principal{}, invalidKey()
	}
	t.recordUse(known, now.Unix())
	return known.key.Principal(), nil
}

func (t *Tenancy) knownKey(ctx context.Context, hash string, now time.Time) (*knownKey, error) {
	known, version, ok := t.knownKeys.Get(hash, now)
	if ok {
		return known, nil
	}
	_, unknownVersion, ok := t.unknownKeys.Get(hash, now)
	if ok {
		return nil, evidence.ErrUnknownKey
	}
	key, err := t.keys.Get(ctx, hash)
	if errors.Is(err, storage.ErrNotFound) {
		t.unknownKeys.Put(hash, struct{}{}, now, unknownVersion)
		return nil, evidence.ErrUnknownKey
	}
	if err != nil {
		return nil, maskHash(err, hash)
	}
	exists, err := t.ownerExists(ctx, &key)
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, invalidKey()
	}
	known = &knownKey{key: key}
	known.used.Store(key.LastUsedAt)
	t.knownKeys.Put(hash, known, now, version)
	return known, nil
}

// recordUse queues the use of a key, unless one was recorded within keyUseInterval. A failed write is repeated once the
// key is read again.
func (t *Tenancy) recordUse(known *knownKey, now int64) {
	last := known.used.Load()
	if now-last < keyUseInterval || !known.used.CompareAndSwap(last, now) {
		return
	}
	t.uses.record(known.key, now)
}

func (t *Tenancy) newKey(owner identity.KeyOwner, secret evidence.Secret, fresh NewKey) evidence.Key {
	return evidence.Key{
		ID: evidence.NewID(), Hash: evidence.HashAPIKey(secret.Reveal()), OwnerID: owner.ID, OwnerName: owner.Name,
		AccountOrgID: owner.OrgID, Description: fresh.Description, CreatedAt: t.clock().Unix(), ExpiresAt: fresh.ExpiresAt,
	}
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

// maxKeys bounds how many active keys an owner may have.
const maxKeys = 1000

// NewKey describes a key to be issued.
type NewKey struct {
	Description string
	ExpiresAt   int64 // Unix seconds, 0 for never
}

// Keys returns the active keys of an owner, oldest first.
func (t *Tenancy) Keys(ctx context.Context, ownerID string) ([]evidence.Key, error) {
	found, err := t.liveKeys(ctx, ownerID)
	slices.SortFunc(found, func(a, b evidence.Key) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	return found, err
}

// FirstExpiries returns when the first key of each owner expires, in Unix seconds, up to a moment. Keys that were
// rotated do not count. It takes one command for each MaxMany owners or keys.
func (t *Tenancy) FirstExpiries(ctx context.Context, owners []string, until int64) (map[string]int64, error) {
	first := map[string]int64{}
	err := storage.EachSet(owners, func(set any) error {
		query := storage.Query{
			Index: "ends", Equal: []any{set}, Limit: storage.MaxMany,
			From: &storage.Bound{Value: t.clock().Unix(), Exclusive: true}, To: &storage.Bound{Value: until},
		}
		return storage.ForEach(ctx, t.keys, query, func(key *evidence.Key) error {
			if before, ok := first[key.OwnerID]; key.RevokedAt == 0 && (!ok || key.ExpiresAt < before) {
				first[key.OwnerID] = key.ExpiresAt
			}
			return nil
		})
	})
	return first, err
}

// Key returns an active key of an owner, by its id, or ErrNotFound.
func (t *Tenancy) Key(ctx context.Context, ownerID, id string) (evidence.Key, error) {
	found, err := t.liveKeys(ctx, ownerID)
	key, ok := evidence.First(found, func(key evidence.Key) bool { return key.ID == id })
	if err == nil && !ok {
		err = storage.ErrNotFound
	}
	return key, err
}

// IssueKey makes a key and returns it with its secret, which is never shown again. ErrNotFound means that the owner no
// longer exists.
func (t *Tenancy) IssueKey(ctx context.Context, owner identity.KeyOwner, by identity.Actor, fresh NewKey) (evidence.Key, evidence.Secret, error) {
	secret := evidence.NewAPIKey()
	key := t.newKey(owner, secret, fresh)
	err := t.change(ctx, owner.OrgName, by, func(c *orgChange) error {
		return t.addKey(ctx, c, owner, key)
	})
	return key, secret, maskHash(err, key.Hash)
}

// RevokeKey revokes an active key, by its id, or returns ErrNotFound.
func (t *Tenancy) RevokeKey(ctx context.Context, owner identity.KeyOwner, by identity.Actor, id string) error {
	return t.change(ctx, owner.OrgName, by, func(c *orgChange) error {
		key, err := t.Key(ctx, owner.ID, id)
		if err != nil {
			return err
		}
		return t.revokeIn(ctx, c, key)
	})
}

// RotateKey replaces an active key, by its id, by a new one, or returns ErrNotFound. The old key stays active for a
// grace period. The new one expires at expiresAt (0 for never). It returns the new key with its secret, and when the
// old one ends, in Unix seconds.
func (t *Tenancy) RotateKey(ctx context.Context, owner identity.KeyOwner, by identity.Actor, id string, grace time.Duration, expiresAt int64) (fresh evidence.Key, secret evidence.Secret, oldEnds int64, err error) {
	secret = evidence.NewAPIKey()
	revokedAt := t.clock().Add(grace).Unix()
	err = t.change(ctx, owner.OrgName, by, func(c *orgChange) error {
		old, err := t.Key(ctx, owner.ID, id)
		if err != nil {
			return err
		}
		read, err := t.keys.GetVersioned(ctx, old.Hash)
		if err != nil {
			return maskHash(err, old.Hash)
		}
		changed := read.Value
		if changed.RevokedAt == 0 || revokedAt < changed.RevokedAt {
			changed.RevokedAt = revokedAt
		}
		t.keys.ReplaceIn(&c.batch, &changed, read.Revision)
		c.record(keyEntry(identity.AuditChanged, &changed))
		fresh = t.newKey(owner, secret, NewKey{Description: old.Description, ExpiresAt: expiresAt})
		if err := t.addKey(ctx, c, owner, fresh); err != nil {
			return err
		}
		oldEnds = changed.Ends()
		return nil
	})
	return fresh, secret, oldEnds, maskHash(err, fresh.Hash)
}

// ExpiringKeys returns the active keys that expire before a moment in Unix seconds, unless they are revoked by then.
func (t *Tenancy) ExpiringKeys(ctx context.Context, before int64) (expiring []evidence.Key, err error) {
	query := storage.Query{Index: "ends", Limit: storage.MaxMany, Where: []storage.Condition{
		{Field: "ends", Operator: storage.AtLeast, Value: t.clock().Unix() + 1}, {Field: "ends", Operator: storage.AtMost, Value: before},
	}}
	err = storage.ForEach(ctx, t.keys, query, func(key *evidence.Key) error {
		exists, err := t.ownerExists(ctx, key)
		if exists && key.RevokedAt == 0 {
			expiring = append(expiring, *key)
		}
		return err
	})
	return expiring, err
}

func (t *Tenancy) liveKeys(ctx context.Context, ownerID string) ([]evidence.Key, error) {
	return storage.FindAll(ctx, t.keys, storage.Query{
		Index: "ends", Equal: []any{ownerID}, From: &storage.Bound{Value: t.clock().Unix(), Exclusive: true}, Limit: storage.Unlimited,
	})
}

// addKey adds a key to a change. ErrNotFound means that its owner does not exist.
func (t *Tenancy) addKey(ctx context.Context, c *orgChange, owner identity.KeyOwner, key evidence.Key) error {
	exists, err := t.ownerExists(ctx, &key)
	if err != nil {
		return err
	}
	if !exists {
		return storage.ErrNotFound
	}
	live, err := t.liveKeys(ctx, owner.ID)
	if err != nil {
		return err
	}
	if len(live) >= maxKeys {
		return evidence.Errorf(evidence.Invalid, "'%s' has %d API keys already, revoke some of them", owner.Name, len(live))
	}
	t.keys.PutIn(&c.batch, key)
	c.record(keyEntry(identity.AuditAdded, &key))
	return nil
}

func (t *Tenancy) ownerExists(ctx context.Context, key *evidence.Key) (bool, error) {
	var ownerID string
	var err error
	if key.AccountOrgID != "" {
		var account identity.ServiceAccount
		account, err = t.ServiceAccount(ctx, key.AccountOrgID, key.OwnerName)
		ownerID = account.ID
	} else {
		var user evidence.User
		user, err = t.users.Get(ctx, key.OwnerName)
		if user.RemovedAt == 0 && key.CreatedAt >= user.KeysFrom {
			ownerID = user.ID
		}
	}
	return err == nil && ownerID == key.OwnerID, storage.IgnoreMissing(err)
}

func (t *Tenancy) revokeIn(ctx context.Context, c *orgChange, key evidence.Key) error {
	read, err := t.keys.GetVersioned(ctx, key.Hash)
	if err != nil {
		return maskHash(err, key.Hash)
	}
	revoked := read.Value
	revoked.RevokedAt = 1 // long ago: a clock that is slow or set back must not let the key work again
	t.keys.ReplaceIn(&c.batch, &revoked, read.Revision)
	c.invalidate = true
	c.record(keyEntry(identity.AuditRemoved, &revoked))
	return nil
}

func keyEntry(event identity.AuditEvent, key *evidence.Key) identity.AuditEntry {
	subject := identity.AuditUser
	if key.AccountOrgID != "" {
		subject = identity.AuditServiceAccount
	}
	return identity.AuditEntry{
		Event: event, Subject: subject, Name: key.OwnerName, Key: &identity.AuditKey{ID: key.ID, Description: key.Description},
	}
}
