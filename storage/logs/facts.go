package logs

import (
	"context"
	"errors"
	"slices"
	"strings"

	"attestry/evidence"
	"attestry/storage"
)

// FactName is the name of the leaf of a fact of a kind, kind/id, by the parts of its id. For documents that are
// replaced, use VersionNames.
func FactName(kind string, id ...string) string {
	return leafName(kind, strings.ReplaceAll(strings.Join(id, ":"), "/", ":"))
}

// VersionNames returns the names of the leaves of the current versions of documents of one kind, for those that exist.
func (l *Logs) VersionNames(ctx context.Context, org, kind string, documents []string) (names []string, err error) {
	err = l.eachRecord(ctx, &storage.Schema{Name: collectionOf(kind)}, documents, func(record *storage.Record) error {
		names = append(names, leafName(kind, versionID(entryID(org, record.ID), record.Revision)))
		return nil
	})
	return names, err
}

// blocksAtOnce bounds the blocks, of up to 256 leaves, that are in memory at once.
const blocksAtOnce = 32

// Indexed returns the leaves of names, kind/id, that have an index in the log of an organization, in that order.
func (l *Logs) Indexed(ctx context.Context, org string, names []string) ([]Leaf, error) {
	found := map[string]Leaf{}
	err := l.findIndexed(ctx, org, names, found)
	return inOrder(names, found), err
}

// HasFact reports whether an organization has a fact, which need not have an index in the log yet.
func (l *Logs) HasFact(ctx context.Context, org, kind, id string) (has bool, err error) {
	leaf := Leaf{Org: org, Kind: kind, ID: id}
	schema := factSchema(kind)
	err = l.eachRecord(ctx, schema, []string{leaf.document(schema)}, func(record *storage.Record) error {
		if schema == versionSchema { // its ids begin with the organization
			has = true
			return nil
		}
		fact, err := kindNamed(schema.Name).leaf(record, 0)
		has = fact.Org == org
		return err
	})
	return has, err
}

// LeavesOf returns the leaves of names, kind/id, that an organization has, pending ones too, in that order.
func (l *Logs) LeavesOf(ctx context.Context, org string, names []string) ([]Leaf, error) {
	found := map[string]Leaf{}
	missing := func(name string) bool { return found[name].Org == "" }
	// A leaf may get its index after the first look-up, and then is no longer pending.
	for _, find := range []func(context.Context, string, []string, map[string]Leaf) error{l.findIndexed, l.findPending, l.findIndexed} {
		rest := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !missing(name) })
		if len(rest) == 0 {
			break
		}
		if err := find(ctx, org, rest, found); err != nil {
			return nil, err
		}
	}
	return inOrder(names, found), nil
}

func inOrder(names []string, found map[string]Leaf) (leaves []Leaf) {
	for _, name := range names {
		if leaf, ok := found[name]; ok {
			leaves = append(leaves, leaf)
		}
	}
	return leaves
}

func (l *Logs) findIndexed(ctx context.Context, org string, names []string, found map[string]Leaf) error {
	locations, err := l.locations.GetMany(ctx, evidence.Map(names, func(name string) string { return leafKey(org, name) }))
	if err != nil {
		return err
	}
	wanted := evidence.SetOf(locations, func(at *location) string { return at.Name })
	blocks := evidence.Distinct(evidence.Map(locations, func(at location) string { return numbered(org, at.First) }))
	for some := range slices.Chunk(blocks, blocksAtOnce) {
		read, err := l.blocks.GetMany(ctx, some)
		if err != nil {
			return err
		}
		for i := range read {
			for _, leaf := range read[i].leaves() {
				if wanted[leaf.name()] {
					found[leaf.name()] = leaf
					delete(wanted, leaf.name())
				}
			}
		}
	}
	if len(wanted) > 0 {
		return storage.Damaged("Entries of the log are lost", storage.ErrNotFound)
	}
	return nil
}

// findPending adds those of the leaves that are pending. It reads all pending leaves, usually a few.
func (l *Logs) findPending(ctx context.Context, org string, names []string, found map[string]Leaf) error {
	wanted := evidence.SetOf(names, func(name *string) string { return *name })
	for after := leafKey(org, ""); ; {
		pending, err := l.list(ctx, after, org, storage.MaxMany)
		if err != nil || len(pending) == 0 {
			return err
		}
		for _, leaf := range pending {
			if wanted[leaf.name()] {
				found[leaf.name()] = leaf
			}
		}
		after = pending[len(pending)-1].pendingKey()
	}
}

// EachFact calls yield with the canonical bytes of the facts of leaves in their order. Leaves of one kind must be
// adjacent. Lost facts are left out.
func (l *Logs) EachFact(ctx context.Context, leaves []Leaf, yield func(*Leaf, []byte) error) error {
	for len(leaves) > 0 {
		schema, byDocument := factSchema(leaves[0].Kind), map[string]*Leaf{}
		var documents []string
		for kind := leaves[0].Kind; len(leaves) > 0 && leaves[0].Kind == kind; leaves = leaves[1:] {
			id := leaves[0].document(schema)
			documents = append(documents, id)
			byDocument[id] = &leaves[0]
		}
		err := l.eachRecord(ctx, schema, documents, func(record *storage.Record) error { return yield(byDocument[record.ID], record.Body) })
		if err != nil {
			return err
		}
	}
	return nil
}

// factBytes bounds the facts that are in memory at once, in bytes.
const factBytes = 4 << 20

// factSchema is the collection that contains the canonical bytes of facts of a kind.
func factSchema(kind string) *storage.Schema {
	if collection := collectionOf(kind); collection != "" && !kinds[collection].replaced {
		return &storage.Schema{Name: collection}
	}
	return versionSchema
}

func collectionOf(kind string) string {
	for collection, of := range kinds {
		if of.name == kind {
			return collection
		}
	}
	return ""
}

// eachRecord calls yield with the documents of a collection that exist among ids, in that order.
func (l *Logs) eachRecord(ctx context.Context, schema *storage.Schema, ids []string, yield func(*storage.Record) error) error {
	return storage.RecordsByID(l.docs, schema, ids).Each(ctx, factBytes, yield)
}

// document is the id of the fact's document in the collection of its kind. Names may contain colons, numbers do not.
func (l *Leaf) document(schema *storage.Schema) string {
	if schema == versionSchema {
		return l.key()
	}
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

// Covering returns the first published checkpoint of at least size entries, or storage.ErrNotFound.
func (l *Logs) Covering(ctx context.Context, org string, size int64) (Checkpoint, error) {
	return storage.FindFirst(ctx, l.checkpoints, storage.Query{Index: "size", Equal: []any{org}, From: &storage.Bound{Value: size}, Limit: 1})
}

// At returns the last checkpoint that was published by a time in Unix seconds, zero if there was none. As later
// checkpoints cover more, it bisects the sizes: a command for each doubling of the log.
func (l *Logs) At(ctx context.Context, org string, at float64) (last Checkpoint, err error) {
	log, err := l.Collection.Get(ctx, org)
	if err != nil {
		return last, storage.IgnoreMissing(err)
	}
	for low, high := int64(0), log.Signed; low < high; {
		middle := low + (high-low+1)/2
		found, err := l.Covering(ctx, org, middle)
		switch {
		case err != nil && !errors.Is(err, storage.ErrNotFound):
			return last, err
		case err != nil || found.At > at:
			high = middle - 1
		default:
			last, low = found, found.Size
		}
	}
	return last, nil
}
