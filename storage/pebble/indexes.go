package pebble

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

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
	e := &edits{batch: batch}
	if catalog.layout != layout { // of a new or older folder
		e.set(space{}.key(layoutName), binary.BigEndian.AppendUint32(nil, layout))
	}
	missing := map[*collection][]*index{}
	for name, c := range db.collections {
		missing[c] = catalog.declare(e, name, c)
	}
	if e.err != nil || batch.Empty() {
		return e.err
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
func (c *catalog) declare(e *edits, name string, col *collection) (missing []*index) {
	col.records, col.bodies = c.spaceOf(e, recordsNames+name).space, c.spaceOf(e, bodiesNames+name).space
	kept := make([]string, 0, len(col.indexes))
	for i := range col.indexes {
		one := &col.indexes[i]
		kept = append(kept, indexName(col.schema, one))
		found := c.spaceOf(e, indexName(col.schema, one))
		if one.space = found.space; found.state != built {
			missing = append(missing, one)
			e.clear(one.space)
		}
	}
	for old, of := range c.entries {
		if strings.HasPrefix(old, indexNames+name+"(") && !slices.Contains(kept, old) {
			e.clear(of.space)
			e.delete(space{}.key(old))
			delete(c.entries, old)
		}
	}
	return missing
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
	e := &edits{batch: batch}
	for _, one := range indexes {
		if one.holds(fields) {
			e.set(one.appendKey(nil, fields, iterator.Key()[len(space{}):]), nil)
		}
	}
	return e.err
}

func (db *DB) markBuilt(catalog *catalog, missing map[*collection][]*index) error {
	batch := db.engine.NewBatch()
	defer batch.Close()
	e := &edits{batch: batch}
	for c, indexes := range missing {
		for _, one := range indexes {
			catalog.put(e, indexName(c.schema, one), entry{space: one.space, state: built})
		}
	}
	if e.err != nil || batch.Empty() {
		return e.err
	}
	return db.engine.Apply(batch, pebble.Sync)
}
