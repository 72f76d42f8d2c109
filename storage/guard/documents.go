package guard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"attestry/storage"
)

// documents is a database whose content-addressed documents are verified.
type documents struct {
	storage.Documents
	guard   *Guard
	refusal refusal
}

func (d *documents) Get(ctx context.Context, schema *storage.Schema, id string) (storage.Record, error) {
	ctx, command := begin(ctx, "database get", on(schema))
	record, err := d.Documents.Get(ctx, schema, id)
	if command.end(err) != nil {
		return record, d.note(schema, err)
	}
	return record, d.verify(schema, record)
}

func (d *documents) GetMany(ctx context.Context, schema *storage.Schema, ids []string) ([]storage.Record, error) {
	ctx, command := begin(ctx, "database get many", on(schema))
	records, err := d.Documents.GetMany(ctx, schema, ids)
	if command.end(err) != nil {
		return records, d.note(schema, err)
	}
	if schema.ContentAddressed && len(records) < len(ids) {
		// Such ids are known only from documents that refer to them.
		d.guard.report(storage.Database, schema.Name, fmt.Errorf("%d of %d documents are lost", len(ids)-len(records), len(ids)))
	}
	return records, d.verify(schema, records...)
}

func (d *documents) Find(ctx context.Context, schema *storage.Schema, query storage.Query) (storage.Page, error) {
	ctx, command := begin(ctx, "database find", on(schema))
	page, err := d.Documents.Find(ctx, schema, query)
	if command.end(err) != nil || query.FieldsOnly {
		return page, d.note(schema, err)
	}
	return page, d.verify(schema, page.Records...)
}

func (d *documents) Count(ctx context.Context, schema *storage.Schema, query storage.Query) (int64, error) {
	ctx, command := begin(ctx, "database count", on(schema))
	n, err := d.Documents.Count(ctx, schema, query)
	return n, d.note(schema, command.end(err))
}

func (d *documents) List(ctx context.Context, schema *storage.Schema, after string, limit, maxBytes int) ([]storage.Record, error) {
	ctx, command := begin(ctx, "database list", on(schema))
	records, err := d.Documents.List(ctx, schema, after, limit, maxBytes)
	if command.end(err) != nil {
		return records, d.note(schema, err)
	}
	return records, d.verify(schema, records...)
}

// note reports damage that the engine has met, and returns err.
func (d *documents) note(schema *storage.Schema, err error) error {
	if errors.Is(err, storage.ErrDamaged) {
		d.guard.report(storage.Database, schema.Name, err)
	}
	return err
}

// verify compares the bodies of a content-addressed collection with their ids.
func (d *documents) verify(schema *storage.Schema, records ...storage.Record) error {
	if !schema.ContentAddressed {
		return nil
	}
	for _, record := range records {
		sum := sha256.Sum256(record.Body)
		if found := hex.EncodeToString(sum[:]); found != record.ID {
			reason := fmt.Errorf("the SHA-256 of its content is %s", found)
			d.guard.report(storage.Database, schema.Name+"/"+record.ID, reason)
			return storage.Damaged(fmt.Sprintf("The stored document %s of %s is damaged", record.ID, schema.Name), reason)
		}
	}
	return nil
}

func (d *documents) Insert(ctx context.Context, schema *storage.Schema, record storage.Record) error {
	ctx, command := begin(ctx, "database insert", on(schema))
	return d.refusal.note(command.end(d.Documents.Insert(ctx, schema, record)))
}

func (d *documents) InsertMany(ctx context.Context, schema *storage.Schema, records []storage.Record) (int, error) {
	ctx, command := begin(ctx, "database insert many", on(schema))
	stored, err := d.Documents.InsertMany(ctx, schema, records)
	return stored, d.refusal.note(command.end(err))
}

func (d *documents) Put(ctx context.Context, schema *storage.Schema, records ...storage.Record) error {
	ctx, command := begin(ctx, "database put", on(schema))
	return d.refusal.note(command.end(d.Documents.Put(ctx, schema, records...)))
}

func (d *documents) Replace(ctx context.Context, schema *storage.Schema, record storage.Record, revision int64) error {
	ctx, command := begin(ctx, "database replace", on(schema))
	return d.refusal.note(command.end(d.Documents.Replace(ctx, schema, record, revision)))
}

func (d *documents) Delete(ctx context.Context, schema *storage.Schema, ids ...string) error {
	ctx, command := begin(ctx, "database delete", on(schema))
	return d.refusal.note(command.end(d.Documents.Delete(ctx, schema, ids...)))
}

func (d *documents) Write(ctx context.Context, writes ...storage.Write) error {
	ctx, command := begin(ctx, "database write")
	return d.refusal.note(command.end(d.Documents.Write(ctx, writes...)))
}

// Ping reports whether the database answers and, after a refused write, whether it takes writes again.
func (d *documents) Ping(ctx context.Context) error {
	if err := d.Documents.Ping(ctx); err != nil {
		return err
	}
	return d.refusal.check(ctx, d.probe)
}

func (d *documents) probe(ctx context.Context) error {
	return ProbeDocuments(ctx, d.Documents, "probe")
}

// ProbeDocuments stores a document of probeSize under an id and deletes it.
func ProbeDocuments(ctx context.Context, docs storage.Documents, id string) error {
	record := storage.Record{ID: id, Revision: 1, Body: fmt.Appendf(nil, "%q", bytes.Repeat([]byte{'x'}, probeSize))}
	if err := docs.Put(ctx, storage.ProbeSchema, record); err != nil {
		return err
	}
	return docs.Delete(ctx, storage.ProbeSchema, id)
}
