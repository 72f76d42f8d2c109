package pebble

import (
	"bytes"
	"context"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/klauspost/compress/s2"

	"attestry/storage"
	"attestry/storage/pebble/ordered"
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
	// Neighbouring keys share a block of a table.
	sorted := slices.Compact(slices.Sorted(slices.Values(ids)))
	found := make(map[string]storage.Record, len(ids))
	err = db.read(ctx, func(v *view) error {
		return withReader(v.source, v.folder, len(sorted), func(from reader) error {
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

func (c *collection) load(ctx context.Context, from reader, id string) (storage.Record, bool, error) {
	record := storage.Record{ID: id}
	found, err := from.get(c.records.key(id), func(value []byte) error {
		body, err := decodeRecord(value, &record)
		if err != nil {
			return err
		}
		return c.loadBody(ctx, from, &record, body)
	})
	return record, found, err
}

// body describes where and how the body of a record is stored.
type body struct {
	place byte
	size  int
	// inline is an inline body, valid as long as the value.
	inline []byte
}

// loadBody gives a record its inline or separate body.
func (c *collection) loadBody(ctx context.Context, from reader, record *storage.Record, body body) error {
	if err := storage.ChargeRead(ctx, body.size); err != nil {
		return err
	}
	if body.place == bodyInline {
		record.Body = bytes.Clone(body.inline)
		return nil
	}
	found, err := from.get(c.bodies.key(record.ID), func(value []byte) (err error) {
		record.Body, err = unpackBody(value, body)
		return err
	})
	if err == nil && !found {
		err = errNoRecord
	}
	return err
}

func unpackBody(stored []byte, body body) ([]byte, error) {
	if body.place != bodyCompressed {
		if len(stored) != body.size {
			return nil, errValue
		}
		return bytes.Clone(stored), nil
	}
	if size, err := s2.DecodedLen(stored); err != nil || size != body.size {
		return nil, errValue
	}
	unpacked, err := s2.Decode(nil, stored)
	if err != nil {
		return nil, errValue
	}
	return unpacked, nil
}

func decodeRecord(value []byte, record *storage.Record) (body, error) {
	h, inline, err := cutHead(value)
	if err != nil {
		return body{}, err
	}
	record.Revision = h.revision()
	record.Fields, err = h.fields()
	return body{place: h[placeAt], size: h.bodySize(), inline: inline}, err
}

// List returns documents in the order of their ids.
func (db *DB) List(ctx context.Context, schema *storage.Schema, after string, limit, maxBytes int) ([]storage.Record, error) {
	c, err := db.collection(schema)
	if err != nil {
		return nil, err
	}
	if err := storage.CheckList(after, limit, maxBytes); err != nil {
		return nil, err
	}
	var records []storage.Record
	err = db.read(ctx, func(v *view) error {
		return v.iterate(func(iterator *pebble.Iterator) error {
			records, err = c.list(ctx, v, iterator, after, limit, maxBytes)
			return err
		})
	})
	return records, err
}

func (c *collection) list(ctx context.Context, v *view, iterator *pebble.Iterator, after string, limit, maxBytes int) ([]storage.Record, error) {
	// No id has a NUL, so this is the least key after that of the id, also if the id is "".
	iterator.SetBounds(append(c.records.key(after), 0), ordered.After(c.records[:]))
	var records []storage.Record
	total := 0
	for ok := iterator.First(); ok && len(records) < limit; ok = iterator.Next() {
		value, err := iterator.ValueAndErr()
		if err != nil {
			return nil, explain(v.folder, err)
		}
		record := storage.Record{ID: string(iterator.Key()[len(space{}):])}
		body, err := decodeRecord(value, &record)
		if err != nil {
			return nil, err
		}
		if total += body.size; len(records) > 0 && total > maxBytes {
			break
		}
		if err := c.loadBody(ctx, v, &record, body); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, iterator.Error()
}
