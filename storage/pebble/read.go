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
		for _, id := range sorted {
			record, ok, err := c.load(ctx, v, id)
			if err != nil {
				return err
			}
			if ok {
				found[id] = record
			}
		}
		return ctx.Err()
	})
	return storage.InOrder(ids, found), err
}

// load reads a document.
func (c *collection) load(ctx context.Context, v *view, id string) (storage.Record, bool, error) {
	record := storage.Record{ID: id}
	found, err := v.get(c.records.key(id), func(value []byte) error {
		size, inline, err := decodeRecord(v, value, &record)
		if err != nil {
			return err
		}
		return c.loadBody(ctx, v, &record, size, inline)
	})
	return record, found, err
}

// loadBody gives a record its body, of which decodeRecord told the size: the inline one, or
// the one that is stored apart.
func (c *collection) loadBody(ctx context.Context, v *view, record *storage.Record, size int, inline []byte) error {
	if size == len(inline) {
		record.Body = bytes.Clone(inline)
		return storage.ChargeRead(ctx, size)
	}
	found, err := v.get(c.bodies.key(record.ID), func(value []byte) error {
		if len(value) != size {
			return explain(v.folder, errValue)
		}
		record.Body = bytes.Clone(value)
		return storage.ChargeRead(ctx, size)
	})
	if err == nil && !found {
		err = explain(v.folder, errNoRecord)
	}
	return err
}

// decodeRecord decodes the revision and the fields of a record's value, and returns the
// size of its body and the body if it is inline.
func decodeRecord(v *view, value []byte, record *storage.Record) (size int, inline []byte, err error) {
	h, inline, err := cutHead(value)
	if err == nil {
		record.Revision = h.revision()
		record.Fields, err = h.fields()
	}
	if err != nil {
		return 0, nil, explain(v.folder, err)
	}
	return h.bodySize(), inline, nil
}
