package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"attestry/evidence"
	"attestry/storage"
)

// documents verifies content-addressed documents of a database.
type documents struct {
	storage.Documents
	guard   *Guard
	refusal refusal
}

func (d *documents) Get(ctx context.Context, schema *storage.Schema, id string) (storage.Record, error) {
	ctx, command := begin(ctx, "database get", collectionAttr(schema))
	record, err := d.Documents.Get(ctx, schema, id)
	return record, d.verify(schema, command.end(err), record)
}

func (d *documents) GetMany(ctx context.Context, schema *storage.Schema, ids []string) ([]storage.Record, error) {
	ctx, command := begin(ctx, "database get many", collectionAttr(schema))
	records, err := d.Documents.GetMany(ctx, schema, ids)
	if command.end(err) == nil && schema.ContentAddressed && len(records) < len(ids) {
		// Such ids come only from documents that refer to them.
		d.guard.report(storage.Database, schema.Name, fmt.Errorf("%d of %d documents are lost", len(ids)-len(records), len(ids)))
	}
	return records, d.verify(schema, err, records...)
}

func (d *documents) Find(ctx context.Context, schema *storage.Schema, query storage.Query) (storage.Page, error) {
	ctx, command := begin(ctx, "database find", collectionAttr(schema))
	page, err := d.Documents.Find(ctx, schema, query)
	if err = command.end(err); query.FieldsOnly {
		return page, d.verify(schema, err)
	}
	return page, d.verify(schema, err, page.Records...)
}

func (d *documents) Count(ctx context.Context, schema *storage.Schema, query storage.Query) (int64, error) {
	ctx, command := begin(ctx, "database count", collectionAttr(schema))
	n, err := d.Documents.Count(ctx, schema, query)
	return n, d.verify(schema, command.end(err))
}

func (d *documents) List(ctx context.Context, schema *storage.Schema, after string, limit, maxBytes int) ([]storage.Record, error) {
	ctx, command := begin(ctx, "database list", collectionAttr(schema))
	records, err := d.Documents.List(ctx, schema, after, limit, maxBytes)
	return records, d.verify(schema, command.end(err), records...)
}

// verify verifies the records that a command has returned with an error or nil. It reports damage that it or the engine
// has found.
func (d *documents) verify(schema *storage.Schema, err error, records ...storage.Record) error {
	if errors.Is(err, storage.ErrDamaged) {
		d.guard.report(storage.Database, schema.Name, err)
	}
	if err != nil || !schema.ContentAddressed {
		return err
	}
	for _, record := range records {
		if found := evidence.SHA256(record.Body); found != record.ID {
			reason := fmt.Errorf("the SHA-256 of its content is %s", found)
			d.guard.report(storage.Database, schema.Name+"/"+record.ID, reason)
			return storage.Damaged(fmt.Sprintf("The stored document %s of %s is damaged", record.ID, schema.Name), reason)
		}
	}
	return nil
}

func (d *documents) Write(ctx context.Context, writes ...storage.Write) error {
	name, attributes := commandOf(writes)
	ctx, command := begin(ctx, name, attributes...)
	return d.refusal.observe(command.end(d.Documents.Write(ctx, writes...)))
}

// writeNames are the names of commands whose writes are all of one kind and to one collection.
var writeNames = map[storage.WriteKind]string{
	storage.WriteInsert: "database insert", storage.WriteAdd: "database insert many", storage.WritePut: "database put",
	storage.WriteReplace: "database replace", storage.WriteDelete: "database delete", storage.WriteCheck: "database check",
}

func commandOf(writes []storage.Write) (name string, attributes []slog.Attr) {
	another := func(w storage.Write) bool { return w.Kind != writes[0].Kind || w.Schema != writes[0].Schema }
	if len(writes) == 0 || slices.ContainsFunc(writes, another) {
		return "database write", nil
	}
	return writeNames[writes[0].Kind], []slog.Attr{collectionAttr(writes[0].Schema)}
}

// Ping reports whether the database answers and, after a refused write, whether it accepts writes again.
func (d *documents) Ping(ctx context.Context) error {
	if err := d.Documents.Ping(ctx); err != nil {
		return err
	}
	return d.refusal.check(ctx, func(ctx context.Context) error { return ProbeDocuments(ctx, d.Documents, "probe") })
}

// ProbeDocuments stores a document of probeSize under an id and deletes it.
func ProbeDocuments(ctx context.Context, docs storage.Documents, id string) error {
	record := storage.Record{ID: id, Revision: 1, Body: fmt.Appendf(nil, "%q", bytes.Repeat([]byte{'x'}, probeSize))}
	if err := docs.Write(ctx, storage.Write{Kind: storage.WritePut, Schema: storage.ProbeSchema, Record: record}); err != nil {
		return err
	}
	return docs.Write(ctx, storage.Write{Kind: storage.WriteDelete, Schema: storage.ProbeSchema, Record: storage.Record{ID: id}})
}
