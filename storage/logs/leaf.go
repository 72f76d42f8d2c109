package logs

import (
	"crypto/rand"
	"fmt"

	"attestry/evidence/translog"
	"attestry/storage"
)

// Leaf is what becomes an entry of the log of an organization. It is stored together with its fact, and pending until it
// has a place in the log.
type Leaf struct {
	Org string `json:"org"` // id
	// Kind and ID are those of the entry.
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Salt and Hash are those of the fact: the hash commits to both. They are not part of the fact, so that it can be
	// erased.
	Salt []byte `json:"salt"`
	Hash string `json:"hash"`
	// Group is the trail or the environment of the fact, "" if it has none.
	Group string `json:"group,omitempty"`
	// At is the time of the fact, or when it was stored, in Unix seconds.
	At float64 `json:"at"`
	// Index is the place of the entry in the log, from 1; 0 while it has none.
	Index int64 `json:"-"`
}

var (
	// pendingSchema has leaves without a place, by organization and time.
	pendingSchema = &storage.Schema{Name: "log_pending", Unconditional: true}
	// versionSchema has the canonical bytes of facts that are replaced, by the keys of their leaves.
	versionSchema = &storage.Schema{Name: "log_versions", Opaque: true}
)

func newLeaf(org, kind, id string, fact []byte) Leaf {
	salt := make([]byte, translog.SaltSize)
	_, _ = rand.Read(salt) // never fails
	return Leaf{Org: org, Kind: kind, ID: id, Salt: salt, Hash: translog.Commitment(salt, fact)}
}

func (l *Leaf) key() string { return leafKey(l.Org, l.name()) }

func (l *Leaf) pendingKey() string { return pendingKey(l.Org, l.At, l.name()) }

// name tells the leaf from others of its organization.
func (l *Leaf) name() string { return leafName(l.Kind, l.ID) }

func leafName(kind, id string) string { return kind + "/" + id }

func leafKey(org, name string) string { return org + "/" + name }

func pendingKey(org string, at float64, name string) string {
	return fmt.Sprintf("%s/%016x/%s", org, int64(at*1e6), name)
}

// Entry is the entry of the leaf in a log with a secret.
func (l *Leaf) Entry(secret []byte) translog.Entry {
	return translog.Entry{Version: 1, Kind: l.Kind, ID: l.ID, Hash: l.Hash, Group: translog.GroupCommitment(secret, l.Group)}
}
