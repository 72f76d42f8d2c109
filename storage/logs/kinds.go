package logs

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bytedance/sonic"

	"attestry/evidence/translog"
	"attestry/storage"
)

// kind is how the documents of a collection are logged.
type kind struct {
	// name is that of the kind in entries.
	name string
	// group returns the key of the trail or the id of the environment that a fact belongs to, "" if it belongs to none.
	group func(*storage.Record) string
	// time is the field that has the time of a fact, "" if it has none.
	time string
	// replaced means that documents are replaced: each version of one is a fact, of which a copy is kept.
	replaced bool
	// searched means a daily search for facts without a leaf. An engine without atomic batches may lose a leaf when a
	// process is killed, and neither the reconciler nor a repeated task stores a leaf of this kind again.
	searched bool
}

// kinds are all facts that are logged, by the collections that they are in (docs/semantics.md 24.1).
var kinds = map[string]kind{
	"artifacts":                 {name: "artifact", group: field("trail"), time: "created"},
	"attestations":              {name: "attestation", group: field("trail"), time: "time"},
	"approvals":                 {name: "approval", group: field("trail"), time: "created"},
	"snapshots":                 {name: "snapshot", group: field("environment"), time: "time"},
	"environments":              {name: "environment", group: wholeID, time: "created", replaced: true, searched: true},
	"allowlist":                 {name: "allowance", group: beginningOfID, time: "time", replaced: true, searched: true},
	"templates":                 {name: "template", group: noGroup, searched: true},
	"policy_versions":           {name: "policy", group: noGroup, searched: true},
	"control_versions":          {name: "control", group: noGroup, searched: true},
	"attestation_type_versions": {name: "attestation_type", group: noGroup, searched: true},
	"audit_log":                 {name: "audit_entry", group: noGroup, time: "time", searched: true},
}

// kindNamed returns the kind of a collection's documents, nil if they are not logged.
func kindNamed(collection string) *kind {
	if kind, logged := kinds[collection]; logged {
		return &kind
	}
	return nil
}

func field(name string) func(*storage.Record) string {
	return func(record *storage.Record) string { return record.Text(name) }
}

func noGroup(*storage.Record) string        { return "" }
func wholeID(record *storage.Record) string { return record.ID }
func beginningOfID(record *storage.Record) string {
	beginning, _, _ := strings.Cut(record.ID, "/")
	return beginning
}

// at is the time of a fact in Unix seconds: its own if it has one, else that at which it is stored. Documents that are
// replaced keep the time of their first version, so each version has that at which it is stored.
func (k *kind) at(fact *storage.Record, stored float64) float64 {
	if own, ok := fact.Fields[k.time].(float64); ok && !k.replaced {
		return own
	}
	return stored
}

// leaf makes the leaf of a fact that is stored at a time in Unix seconds.
func (k *kind) leaf(fact *storage.Record, stored float64) (Leaf, error) {
	org := fact.Text("org")
	if org == "" {
		var body struct {
			Org string `json:"org"`
		}
		if err := json.Unmarshal(fact.Body, &body); err != nil {
			return Leaf{}, fmt.Errorf("read the organization of %s %s: %w", k.name, fact.ID, err)
		}
		if body.Org == "" {
			return Leaf{}, fmt.Errorf("%s %s names no organization", k.name, fact.ID)
		}
		org = body.Org
	}
	id := entryID(org, fact.ID)
	if k.replaced {
		id = versionID(id, fact.Revision)
	}
	leaf := newLeaf(org, k.name, id, fact.Body)
	leaf.Group, leaf.At = k.group(fact), k.at(fact, stored)
	return leaf, nil
}

// writes returns the writes that store the leaf of a fact, and a copy of a fact that is replaced.
func (k *kind) writes(leaf *Leaf, fact *storage.Record, of storage.WriteKind) ([]storage.Write, error) {
	body, err := sonic.Marshal(leaf)
	pending := storage.Write{Kind: of, Schema: PendingSchema, Record: storage.Record{ID: leaf.pendingKey(), Revision: fact.Revision, Body: body}}
	if !k.replaced {
		return []storage.Write{pending}, err
	}
	version := storage.Record{ID: leaf.key(), Revision: fact.Revision, Body: fact.Body}
	return []storage.Write{{Kind: storage.WriteAdd, Schema: versionSchema, Record: version}, pending}, err
}

func versionID(id string, revision int64) string { return fmt.Sprintf("%s:%x", id, revision) }

// entryID is the entry id of a document. The ids of some collections begin with the organization.
func entryID(org, id string) string {
	return strings.ReplaceAll(strings.TrimPrefix(id, org+"/"), "/", ":")
}

// Leaf becomes an entry of an organization's log. It is stored with its fact, and pending until it has an index.
type Leaf struct {
	Org string `json:"org"` // id
	// Kind and ID are those of the entry.
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Hash commits to the fact, with the salt. The fact itself is stored elsewhere, so that it can be erased.
	Salt []byte `json:"salt"`
	Hash string `json:"hash"`
	// Group is the trail or the environment of the fact, "" if it has none.
	Group string `json:"group,omitempty"`
	// At is the time of the fact, or when it was stored, in Unix seconds.
	At float64 `json:"at"`
	// Index is the position of the entry in the log, from 1; 0 while the leaf is pending.
	Index int64 `json:"-"`
}

var (
	// PendingSchema has the pending leaves, by organization and time. It changes when something is to be logged.
	PendingSchema = &storage.Schema{Name: "log_pending", Unconditional: true}
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

// name is unique in the organization.
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
