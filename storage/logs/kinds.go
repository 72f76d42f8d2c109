package logs

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bytedance/sonic"

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
	// replaced tells that documents are replaced: each version of one is a fact of its own, of which a copy is kept.
	replaced bool
	// searched tells that facts without a leaf are looked for each day. An engine that does not write a batch as a whole may
	// lose a leaf when a process is killed, and neither the reconciler nor a task that is repeated stores it again.
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

// kindNamed is how the documents of a collection are logged, nil if they are not.
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

// at is the time of a fact in Unix seconds: its own if it has one, else that at which it is stored. Versions of what is replaced
// have the time of the first.
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

// writes are those that store the leaf of a fact, and of one that is replaced a copy.
func (k *kind) writes(leaf *Leaf, fact *storage.Record, of storage.WriteKind) ([]storage.Write, error) {
	body, err := sonic.Marshal(leaf)
	pending := storage.Write{Kind: of, Schema: pendingSchema, Record: storage.Record{ID: leaf.pendingKey(), Revision: fact.Revision, Body: body}}
	if !k.replaced {
		return []storage.Write{pending}, err
	}
	version := storage.Record{ID: leaf.key(), Revision: fact.Revision, Body: fact.Body}
	return []storage.Write{{Kind: storage.WriteAdd, Schema: versionSchema, Record: version}, pending}, err
}

// versionID is the id that the entry of a version of a document has.
func versionID(id string, revision int64) string { return fmt.Sprintf("%s:%x", id, revision) }

// entryID is the id that the entry of a document has. The ids of some collections begin with the organization.
func entryID(org, id string) string {
	return strings.ReplaceAll(strings.TrimPrefix(id, org+"/"), "/", ":")
}
