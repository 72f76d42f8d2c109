package logs

import (
	"context"
	"strings"

	"attestry/storage"
)

// CheckpointSchemas are the collections that change when a checkpoint is published.
func CheckpointSchemas() []*storage.Schema { return []*storage.Schema{checkpointSchema} }

// FactName is the name of the leaf of a fact of a kind, kind/id, by the parts of its id. Those of documents that are replaced
// are returned by VersionNames.
func FactName(kind string, id ...string) string {
	return leafName(kind, strings.ReplaceAll(strings.Join(id, ":"), "/", ":"))
}

// VersionNames returns the names of the leaves of the present versions of documents that exist, which are of one kind.
func (l *Logs) VersionNames(ctx context.Context, org, kind string, documents []string) (names []string, err error) {
	err = l.eachRecord(ctx, kind, documents, func(record *storage.Record) error {
		names = append(names, leafName(kind, versionID(entryID(org, record.ID), record.Revision)))
		return nil
	})
	return names, err
}

// LeavesOf returns the leaves of an organization that exist among names, kind/id, in their order: one command for each
// storage.MaxMany.
func (l *Logs) LeavesOf(ctx context.Context, org string, names []string) ([]Leaf, error) {
	return l.leaves.GetMany(ctx, storage.IDs(names, func(name string) string { return leafKey(org, name) }))
}

// EachFact passes the canonical bytes of the facts of leaves in their order. Leaves of one kind are behind one another.
// Facts that are lost are left out.
func (l *Logs) EachFact(ctx context.Context, leaves []Leaf, pass func(*Leaf, []byte) error) error {
	for len(leaves) > 0 {
		kind, byDocument := leaves[0].Kind, map[string]*Leaf{}
		var documents []string
		for len(leaves) > 0 && leaves[0].Kind == kind {
			leaf := &leaves[0]
			leaves = leaves[1:]
			if leaf.Fact != nil {
				if err := pass(leaf, leaf.Fact); err != nil {
					return err
				}
				continue
			}
			documents = append(documents, leaf.document())
			byDocument[leaf.document()] = leaf
		}
		err := l.eachRecord(ctx, kind, documents, func(record *storage.Record) error { return pass(byDocument[record.ID], record.Body) })
		if err != nil {
			return err
		}
	}
	return nil
}

// factBytes is how much of facts is held at a time, in bytes.
const factBytes = 4 << 20

// eachRecord passes the documents of a kind that exist, in the order of their ids.
func (l *Logs) eachRecord(ctx context.Context, kind string, ids []string, pass func(*storage.Record) error) error {
	for collection, of := range kinds {
		if of.name != kind {
			continue
		}
		for records := storage.RecordsByID(l.docs, &storage.Schema{Name: collection}, ids); records.More(); {
			batch, err := records.Next(ctx, factBytes)
			if err != nil {
				return err
			}
			for i := range batch {
				if err := pass(&batch[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// document is the id of the document of the fact, which is not replaced. Names may have colons of their own, numbers have
// none.
func (l *Leaf) document() string {
	id := l.ID
	if last := strings.LastIndexByte(id, ':'); last >= 0 && l.Kind != "audit_entry" {
		id = id[:last] + "/" + id[last+1:]
	}
	switch l.Kind {
	case "template", "policy", "control", "attestation_type":
		id = l.Org + "/" + id
	}
	return id
}

// Covering returns the first checkpoint that was published of so many entries or more, or storage.ErrNotFound.
func (l *Logs) Covering(ctx context.Context, org string, size int64) (Checkpoint, error) {
	return storage.FindFirst(ctx, l.checkpoints, storage.Query{Index: "size", Equal: []any{org}, From: &storage.Bound{Value: size}, Limit: 1})
}
