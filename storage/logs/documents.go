package logs

import (
	"context"
	"errors"
	"slices"

	"attestry/evidence"
	"attestry/storage"
)

// Documents wraps an engine. With each fact it stores a leaf, after it and in the same command. All repositories write
// through it, so that no fact is missing in the log.
type Documents struct {
	storage.Documents
	clock evidence.Clock
	off   bool
}

// Off stores facts without leaves from now on. It is called before anything is stored. After Logs.Forget, AddExisting
// finds these facts.
func (d *Documents) Off() { d.off = true }

// NewDocuments wraps the documents of an engine. The clock gives the time at which facts are stored.
func NewDocuments(docs storage.Documents, clock evidence.Clock) *Documents {
	return &Documents{Documents: docs, clock: clock}
}

// Unwrap returns the wrapped database.
func (d *Documents) Unwrap() storage.Documents { return d.Documents }

// kindOf returns the kind of a collection's documents, nil if they are not logged.
func (d *Documents) kindOf(schema *storage.Schema) *kind {
	if d.off {
		return nil
	}
	return kindNamed(schema.Name)
}

// Unlogged returns the ids of those facts of a collection that have no leaf. An engine without atomic batches may have
// lost it. The facts need no bodies.
func (d *Documents) Unlogged(ctx context.Context, collection, org string, facts []storage.Record) ([]string, error) {
	kind := kindNamed(collection)
	if d.off || kind == nil || len(facts) == 0 {
		return nil, nil
	}
	nameOf := func(fact *storage.Record) string { return leafName(kind.name, entryID(org, fact.ID)) }
	// A leaf is pending until its index is stored, so pending leaves are read first.
	missing, err := d.without(ctx, PendingSchema, facts, func(fact *storage.Record) string { return pendingKey(org, kind.at(fact, 0), nameOf(fact)) })
	if err != nil {
		return nil, err
	}
	missing, err = d.without(ctx, locationSchema, missing, func(fact *storage.Record) string { return leafKey(org, nameOf(fact)) })
	return storage.RecordIDs(missing), err
}

// without returns the facts for which a collection has no document.
func (d *Documents) without(ctx context.Context, schema *storage.Schema, facts []storage.Record, key func(*storage.Record) string) ([]storage.Record, error) {
	found, err := d.GetMany(ctx, schema, evidence.Map(facts, func(fact storage.Record) string { return key(&fact) }))
	stored := evidence.SetOf(found, func(record *storage.Record) string { return record.ID })
	return slices.DeleteFunc(slices.Clone(facts), func(fact storage.Record) bool { return stored[key(&fact)] }), err
}

// Write implements storage.Documents.
func (d *Documents) Write(ctx context.Context, writes ...storage.Write) error {
	for start := 0; start < len(writes); {
		command, taken, err := d.command(writes[start:])
		if err != nil {
			return err
		}
		err = d.Documents.Write(ctx, command...)
		if refused, ok := errors.AsType[*storage.RefusedWrite](err); ok {
			index := start + refused.Index
			if err := d.complete(ctx, &writes[index], refused.Reason); err != nil {
				return err
			}
			return &storage.RefusedWrite{Index: index, Reason: refused.Reason}
		}
		if err != nil {
			return err
		}
		start += taken
	}
	return nil
}

// command returns the first writes that fit into one command with the leaves of their facts, and the number of these
// writes. The leaves come last: facts before a refused write may be stored, and a retry stores them again with another
// time. A leaf stored now would commit to the first time.
func (d *Documents) command(writes []storage.Write) (command []storage.Write, taken int, err error) {
	var leaves []storage.Write
	for ; taken < len(writes); taken++ {
		leaf, err := d.leafOf(&writes[taken])
		if err != nil {
			return nil, 0, err
		}
		if taken+1+len(leaves)+len(leaf) > storage.MaxMany {
			break
		}
		leaves = append(leaves, leaf...)
	}
	return slices.Concat(writes[:taken], leaves), taken, nil
}

// complete stores the leaf of a fact that exists already: an engine may have been interrupted between the two.
func (d *Documents) complete(ctx context.Context, refused *storage.Write, reason error) error {
	if d.kindOf(refused.Schema) == nil || !errors.Is(reason, storage.ErrExists) {
		return nil
	}
	stored, err := d.Get(ctx, refused.Schema, refused.Record.ID)
	if err != nil {
		return storage.IgnoreMissing(err) // it may have been deleted meanwhile
	}
	leaf, err := d.leafOf(&storage.Write{Kind: storage.WriteAdd, Schema: refused.Schema, Record: stored})
	if err != nil {
		return err
	}
	return d.Documents.Write(ctx, leaf...)
}

// leafOf returns the writes of a fact's leaf, none if the write stores no fact. The sequencer drops second leaves.
func (d *Documents) leafOf(write *storage.Write) ([]storage.Write, error) {
	kind := d.kindOf(write.Schema)
	if kind == nil {
		return nil, nil
	}
	stored := storage.WritePut
	switch write.Kind {
	case storage.WriteInsert, storage.WritePut:
	case storage.WriteAdd:
		stored = storage.WriteAdd // as with the fact, the first one stays
	case storage.WriteReplace:
		if !kind.replaced {
			return nil, nil
		}
	default:
		return nil, nil
	}
	leaf, err := kind.leaf(&write.Record, evidence.Seconds(d.clock()))
	if err != nil {
		return nil, err
	}
	return kind.writes(&leaf, &write.Record, stored)
}
