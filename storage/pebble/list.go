package pebble

import (
	"context"

	"github.com/cockroachdb/pebble/v2"

	"attestry/storage"
	"attestry/storage/pebble/ordered"
)

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

func (c *collection) list(ctx context.Context, v *view, iterator *pebble.Iterator, behind string, limit, maxBytes int) ([]storage.Record, error) {
	// No id has a NUL: this is the least key behind that of the id, also if that is "".
	iterator.SetBounds(append(c.records.key(behind), 0), ordered.After(c.records[:]))
	var records []storage.Record
	total := 0
	for ok := iterator.First(); ok && len(records) < limit; ok = iterator.Next() {
		value, err := iterator.ValueAndErr()
		if err != nil {
			return nil, explain(v.folder, err)
		}
		record := storage.Record{ID: string(iterator.Key()[len(space{}):])}
		body, err := decodeRecord(v, value, &record)
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
