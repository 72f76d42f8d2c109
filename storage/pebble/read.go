package pebble

import (
	"bytes"
	"context"
	"slices"

	"attestry/storage"
)

// Get returns one document, or storage.ErrNotFound.
func (db *DB) Get(ctx context.Context, schema *storage.Schema, id string) (storage.Record, error) {
	c, err := db.collection(schema)
	if err != nil {
		return storage.Record{}, err
	}
	if err := storage.CheckIDs(id); err != nil {
		return storage.Record{}, err
	}
	record, found := storage.Record{}, false
	err = db.read(ctx, func(v *view) error {
		record, found, err = c.load(ctx, v, id)
		return err
	})
	if err == nil && !found {
		err = storage.ErrNotFound
	}
	return record, err
}

// GetMany returns the documents that exist among ids, in the order of ids.
func (db *DB) GetMany(ctx context.Context, schema *storage.Schema, ids []string) ([]storage.Record, error) {
	c, err := db.collection(schema)
	if err != nil {
		return nil, err
	}
	if err := storage.CheckIDs(ids...); err != nil {
		return nil, err
	}
	// Neighbours are in one block of a table.
	sorted := slices.Compact(slices.Sorted(slices.Values(ids)))
	found := make(map[string]storage.Record, len(ids))
	err = db.read(ctx, func(v *view) error {
		return withReader(v.snapshot, v.folder, len(sorted), func(from reader) error {
			for _, id := range sorted {
				record, ok, err := c.load(ctx, from, id)
				if err != nil {
					return err
				}
				if ok {
					found[id] = record
				}
			}
			return ctx.Err()
		})
	})
	return storage.InOrder(ids, found), err
}

// load reads a document.
func (c *collection) load(ctx context.Context, from reader, id string) (storage.Record, bool, error) {
	record := storage.Record{ID: id}
	var size int
	found, err := from.get(c.records.key(id), func(value []byte) error {
		var inline []byte
		var err error
		if size, inline, err = decodeRecord(from, value, &record); err != nil {
			return err
		}
		if size == len(inline) {
			record.Body = bytes.Clone(inline)
			return storage.ChargeRead(ctx, size)
		}
		return nil
	})
	if err == nil && found && record.Body == nil {
		err = c.loadBody(ctx, from, &record, size)
	}
	return record, found, err
}

// loadBody reads a body that is stored apart.
func (c *collection) loadBody(ctx context.Context, from reader, record *storage.Record, size int) error {
	found, err := from.get(c.bodies.key(record.ID), func(value []byte) error {
		if len(value) != size {
			return from.explain(errValue)
		}
		record.Body = bytes.Clone(value)
		return storage.ChargeRead(ctx, size)
	})
	if err == nil && !found {
		err = from.explain(errNoRecord)
	}
	return err
}

// decodeRecord decodes the revision and the fields of a record's value, and returns the
// size of its body and the body if it is inline.
func decodeRecord(from reader, value []byte, record *storage.Record) (size int, inline []byte, err error) {
	h, inline, err := cutHead(value)
	if err == nil {
		record.Revision = h.revision()
		record.Fields, err = h.fields()
	}
	if err != nil {
		return 0, nil, from.explain(err)
	}
	return h.bodySize(), inline, nil
}
