package logs

import (
	"context"
	"strings"

	"attestry/evidence/translog"
	"attestry/storage"
)

// FactName is the name of the leaf of a fact of a kind, kind/id, by the parts of its id. Those of documents that are replaced
// are returned by VersionNames.
func FactName(kind string, id ...string) string {
	return leafName(kind, strings.ReplaceAll(strings.Join(id, ":"), "/", ":"))
}

// collectionOf is the collection that the facts of a kind are in, "" if there is no such kind.
func collectionOf(name string) string {
	for collection, kind := range kinds {
		if kind.name == name {
			return collection
		}
	}
	return ""
}

// VersionNames returns the names of the leaves of the present versions of documents that exist, which are of one kind.
func (l *Logs) VersionNames(ctx context.Context, org, kind string, documents []string) (names []string, err error) {
	records := storage.RecordsByID(l.docs, &storage.Schema{Name: collectionOf(kind)}, documents)
	for records.More() {
		batch, err := records.Next(ctx, factBytes)
		if err != nil {
			return nil, err
		}
		for i := range batch {
			names = append(names, leafName(kind, versionID(entryID(org, batch[i].ID), batch[i].Revision)))
		}
	}
	return names, nil
}

// LeavesOf returns the leaves of an organization that exist among names, kind/id, in their order: one command for each
// storage.MaxMany.
func (l *Logs) LeavesOf(ctx context.Context, org string, names []string) ([]Leaf, error) {
	return l.leaves.GetMany(ctx, storage.IDs(names, func(name string) string { return leafKey(org, name) }))
}

// factBytes is how much of facts is held at a time, in bytes.
const factBytes = 4 << 20

// EachFact passes the canonical bytes of the facts of leaves, which are of one kind, in their order. Those that are lost
// are left out.
func (l *Logs) EachFact(ctx context.Context, leaves []Leaf, pass func(*Leaf, []byte) error) error {
	byDocument := map[string]*Leaf{}
	var documents []string
	for i := range leaves {
		if leaves[i].Fact != nil {
			if err := pass(&leaves[i], leaves[i].Fact); err != nil {
				return err
			}
			continue
		}
		document := leaves[i].document()
		byDocument[document] = &leaves[i]
		documents = append(documents, document)
	}
	if len(documents) == 0 {
		return nil
	}
	records := storage.RecordsByID(l.docs, &storage.Schema{Name: collectionOf(leaves[0].Kind)}, documents)
	for records.More() {
		batch, err := records.Next(ctx, factBytes)
		if err != nil {
			return err
		}
		for i := range batch {
			if err := pass(byDocument[batch[i].ID], batch[i].Body); err != nil {
				return err
			}
		}
	}
	return nil
}

// document is the id of the document of the fact, which is not replaced.
func (l *Leaf) document() string {
	switch l.Kind {
	case "template":
		return l.Org + "/" + l.ID
	case "policy", "control", "attestation_type":
		return l.Org + "/" + numberedID(l.ID)
	case "approval", "snapshot":
		return numberedID(l.ID)
	}
	return l.ID
}

// numberedID has the slash again that entryID replaced before the number: names may have colons of their own.
func numberedID(id string) string {
	last := strings.LastIndexByte(id, ':')
	return id[:max(0, last)] + "/" + id[last+1:]
}

// Covering returns the first checkpoint that was published of so many entries or more, or storage.ErrNotFound.
func (l *Logs) Covering(ctx context.Context, org string, size int64) (Checkpoint, error) {
	return storage.FindFirst(ctx, l.checkpoints, storage.Query{Index: "size", Equal: []any{org}, From: &storage.Bound{Value: size}, Limit: 1})
}

// EachEntry passes the entries of a log from one place to before another: one command for each bundle that is not in
// memory.
func (l *Logs) EachEntry(ctx context.Context, log *Log, from, to int64, pass func(text []byte) error) error {
	for from < to {
		number := from / translog.Width
		width := int(min(to-number*translog.Width, translog.Width))
		bundle, err := l.Part(ctx, log, translog.Part{Level: translog.Entries, Number: number, Width: width})
		if err != nil {
			return err
		}
		texts, err := translog.ReadBundle(bundle, width)
		if err != nil {
			return err
		}
		for _, text := range texts[from%translog.Width:] {
			if err := pass(text); err != nil {
				return err
			}
		}
		from = (number + 1) * translog.Width
	}
	return nil
}
