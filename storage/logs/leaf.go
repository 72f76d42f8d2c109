package logs

import (
	"crypto/rand"

	"attestry/evidence/translog"
	"attestry/storage"
)

// Leaf is what becomes an entry of the log of an organization. It is stored together with its fact.
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
	// At is when the fact was stored, or for one of an earlier version its own time, in Unix seconds.
	At float64 `json:"at"`
	// Fact is the canonical bytes of a fact that is kept nowhere else.
	Fact []byte `json:"fact,omitempty"`
	// Index is the place of the entry in the log, from 1; 0 while it has none.
	Index int64 `json:"index,omitempty"`
}

// Only leaves that have no place in the log have fields: their organization, and when they were stored.
var leafSchema = &storage.Schema{
	Name:    "log_leaves",
	Fields:  []string{"org", "pending"},
	Indexes: []storage.Index{{Name: "pending", Fields: []string{"org", "pending"}, Required: "org"}},
}

func newLeaf(org, kind, id string, fact []byte) Leaf {
	salt := make([]byte, translog.SaltSize)
	_, _ = rand.Read(salt) // never fails
	return Leaf{Org: org, Kind: kind, ID: id, Salt: salt, Hash: translog.Commitment(salt, fact)}
}

func (l *Leaf) key() string { return leafKey(l.Org, l.name()) }

// name tells the leaf from others of its organization.
func (l *Leaf) name() string { return leafName(l.Kind, l.ID) }

func leafName(kind, id string) string { return kind + "/" + id }

func leafKey(org, name string) string { return org + "/" + name }

func (l *Leaf) fields() map[string]any {
	if l.Index > 0 {
		return nil
	}
	return map[string]any{"org": l.Org, "pending": l.At}
}

// Entry is the entry of the leaf in a log with a secret.
func (l *Leaf) Entry(secret []byte) translog.Entry {
	return translog.Entry{Version: 1, Kind: l.Kind, ID: l.ID, Hash: l.Hash, Group: translog.GroupCommitment(secret, l.Group)}
}
