package pebble

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"attestry/storage/pebble/ordered"
)

// buildBytes is the size of the batches in which a new index is written.
const buildBytes = 1 << 20

// prepare assigns spaces to all collections and indexes, deletes indexes that are no longer declared, and builds new
// ones. An index counts as built once all its entries are written: an interrupted one is built from the beginning.
func (db *DB) prepare(ctx context.Context) error {
	catalog, err := readCatalog(db.engine)
	if err != nil {
		return err
	}
	db.acknowledged.Store(catalog.groups)
	batch := db.engine.NewBatch()
	defer batch.Close()
	if err := catalog.setLayout(batch); err != nil {
		return err
	}
	missing := map[*collection][]*index{}
	for name, c := range db.collections {
		if missing[c], err = catalog.declare(batch, name, c); err != nil {
			return err
		}
	}
	if batch.Empty() {
		return nil
	}
	if err := db.engine.Apply(batch, pebble.Sync); err != nil {
		return err
	}
	for c, indexes := range missing {
		if err := db.build(ctx, c, indexes); err != nil {
			return fmt.Errorf("build the indexes of %s: %w", c.schema.Name, err)
		}
	}
	return db.markBuilt(catalog, missing)
}

// declare assigns the spaces of a collection and returns the indexes that must be built.
func (c *catalog) declare(batch *pebble.Batch, name string, col *collection) ([]*index, error) {
	records, err := c.spaceOf(batch, recordsNames+name)
	if err != nil {
		return nil, err
	}
	bodies, err := c.spaceOf(batch, bodiesNames+name)
	if err != nil {
		return nil, err
	}
	col.records, col.bodies = records.space, bodies.space
	var missing []*index
	kept := make([]string, 0, len(col.indexes))
	for i := range col.indexes {
		one := &col.indexes[i]
		kept = append(kept, indexName(col.schema, one))
		found, err := c.spaceOf(batch, indexName(col.schema, one))
		if err != nil {
			return nil, err
		}
		one.space = found.space
		if found.state == built {
			continue
		}
		missing = append(missing, one)
		if err := one.space.clear(batch); err != nil {
			return nil, err
		}
	}
	for _, old := range c.indexesOf(name) {
		if !slices.Contains(kept, old) {
			if err := c.drop(batch, old); err != nil {
				return nil, err
			}
		}
	}
	return missing, nil
}

// build writes the entries of indexes. It syncs each batch, as package wal expects.
func (db *DB) build(ctx context.Context, c *collection, indexes []*index) error {
	if len(indexes) == 0 {
		return nil
	}
	iterator, err := db.engine.NewIter(&pebble.IterOptions{LowerBound: c.records[:], UpperBound: ordered.After(c.records[:])})
	if err != nil {
		return err
	}
	batch := db.engine.NewBatch()
	defer batch.Close()
	for ok := iterator.First(); ok && err == nil; ok = iterator.Next() {
		if err = addEntries(batch, indexes, iterator); err == nil && batch.Len() >= buildBytes {
			err = errors.Join(ctx.Err(), db.engine.Apply(batch, pebble.Sync))
			batch.Reset()
		}
	}
	if err = errors.Join(err, iterator.Error(), iterator.Close()); err != nil {
		return err
	}
	return db.engine.Apply(batch, pebble.Sync)
}

func addEntries(batch *pebble.Batch, indexes []*index, iterator *pebble.Iterator) error {
	value, err := iterator.ValueAndErr()
	if err != nil {
		return err
	}
	h, _, err := cutHead(value)
	if err != nil {
		return err
	}
	fields, err := h.fields()
	if err != nil {
		return err
	}
	for _, one := range indexes {
		if !one.holds(fields) {
			continue
		}
		key := one.appendKey(nil, fields, iterator.Key()[len(space{}):])
		if err := batch.Set(key, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) markBuilt(catalog *catalog, missing map[*collection][]*index) error {
	batch := db.engine.NewBatch()
	defer batch.Close()
	for c, indexes := range missing {
		for _, one := range indexes {
			if err := catalog.put(batch, indexName(c.schema, one), entry{space: one.space, state: built}); err != nil {
				return err
			}
		}
	}
	if batch.Empty() {
		return nil
	}
	return db.engine.Apply(batch, pebble.Sync)
}
