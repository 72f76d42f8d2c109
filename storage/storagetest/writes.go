package storagetest

import (
	"context"
	"errors"

	"attestry/evidence"
	"attestry/storage"
)

// Insert stores a new document, or returns storage.ErrExists.
func Insert(ctx context.Context, docs storage.Documents, schema *storage.Schema, record storage.Record) error {
	return writeOne(ctx, docs, storage.Write{Kind: storage.WriteInsert, Schema: schema, Record: record})
}

// Replace overwrites a document that is at a revision, or returns storage.ErrMoved.
func Replace(ctx context.Context, docs storage.Documents, schema *storage.Schema, record storage.Record, revision int64) error {
	return writeOne(ctx, docs, storage.Write{Kind: storage.WriteReplace, Schema: schema, Record: record, Revision: revision})
}

// writeOne does one write and returns the bare reason if it was refused.
func writeOne(ctx context.Context, docs storage.Documents, w storage.Write) error {
	err := docs.Write(ctx, w)
	if refused, ok := errors.AsType[*storage.RefusedWrite](err); ok {
		return refused.Reason
	}
	return err
}

// Add stores those of the records (at most storage.MaxMany) whose ids are free.
func Add(ctx context.Context, docs storage.Documents, schema *storage.Schema, records ...storage.Record) error {
	return docs.Write(ctx, writesOf(storage.WriteAdd, schema, records)...)
}

// Put stores documents (at most storage.MaxMany), whether or not their ids are taken.
func Put(ctx context.Context, docs storage.Documents, schema *storage.Schema, records ...storage.Record) error {
	return docs.Write(ctx, writesOf(storage.WritePut, schema, records)...)
}

// Delete removes documents (at most storage.MaxMany); absent ones are no error.
func Delete(ctx context.Context, docs storage.Documents, schema *storage.Schema, ids ...string) error {
	records := evidence.Map(ids, func(id string) storage.Record { return storage.Record{ID: id} })
	return docs.Write(ctx, writesOf(storage.WriteDelete, schema, records)...)
}

func writesOf(kind storage.WriteKind, schema *storage.Schema, records []storage.Record) []storage.Write {
	return evidence.Map(records, func(record storage.Record) storage.Write {
		return storage.Write{Kind: kind, Schema: schema, Record: record}
	})
}
