package pebble

import (
	"context"
	"errors"

	"attestry/storage"
)

// Insert stores a new document, or returns storage.ErrExists.
func (db *DB) Insert(ctx context.Context, schema *storage.Schema, record storage.Record) error {
	c, err := db.encode(schema, storage.WriteInsert, record)
	if err != nil {
		return err
	}
	return single(db.committer.do(ctx, c))
}

// InsertMany stores those of the records whose ids are free and returns their number.
func (db *DB) InsertMany(ctx context.Context, schema *storage.Schema, records []storage.Record) (int, error) {
	c, err := db.encode(schema, storage.WriteAdd, records...)
	if err != nil || len(records) == 0 {
		return 0, err
	}
	if err := db.committer.do(ctx, c); err != nil {
		return 0, err
	}
	return c.stored, nil
}

// Put stores documents, whether or not their ids are taken.
func (db *DB) Put(ctx context.Context, schema *storage.Schema, records ...storage.Record) error {
	c, err := db.encode(schema, storage.WritePut, records...)
	if err != nil || len(records) == 0 {
		return err
	}
	return db.committer.do(ctx, c)
}

// Replace overwrites a document at a revision, or returns storage.ErrMoved.
func (db *DB) Replace(ctx context.Context, schema *storage.Schema, record storage.Record, revision int64) error {
	c, err := db.encode(schema, storage.WriteReplace, record)
	if err != nil {
		return err
	}
	c.steps[0].revision = revision
	return single(db.committer.do(ctx, c))
}

// Delete removes documents; absent ones are no error.
func (db *DB) Delete(ctx context.Context, schema *storage.Schema, ids ...string) error {
	col, err := db.collection(schema)
	if err != nil || len(ids) == 0 {
		return err
	}
	if err := storage.CheckIDs(ids...); err != nil {
		return err
	}
	c := &command{steps: make([]step, len(ids))}
	for i, id := range ids {
		c.steps[i] = step{kind: storage.WriteDelete, row: newKeyRow(col, id)}
	}
	return db.committer.do(ctx, c)
}

// Write does all of the writes, or none if one of them is refused.
func (db *DB) Write(ctx context.Context, writes ...storage.Write) error {
	if err := storage.CheckWrites(writes); err != nil || len(writes) == 0 {
		return err
	}
	c := &command{steps: make([]step, len(writes))}
	for i := range writes {
		col, err := db.collection(writes[i].Schema)
		if err != nil {
			return err
		}
		if c.steps[i], err = newStep(col, &writes[i]); err != nil {
			return err
		}
		c.bytes += c.steps[i].row.bytes()
	}
	return db.committer.do(ctx, c)
}

func newStep(c *collection, w *storage.Write) (step, error) {
	s := step{kind: w.Kind, revision: w.Revision}
	if w.Kind == storage.WriteDelete || w.Kind == storage.WriteCheck {
		s.row = newKeyRow(c, w.Record.ID)
		return s, nil
	}
	var err error
	s.row, err = newRow(c, &w.Record)
	return s, err
}

func (db *DB) encode(schema *storage.Schema, kind storage.WriteKind, records ...storage.Record) (*command, error) {
	col, err := db.collection(schema)
	if err != nil {
		return nil, err
	}
	if err := storage.CheckRecords(schema, records...); err != nil {
		return nil, err
	}
	c := &command{steps: make([]step, len(records))}
	for i := range records {
		c.steps[i].kind = kind
		if c.steps[i].row, err = newRow(col, &records[i]); err != nil {
			return nil, err
		}
		c.bytes += c.steps[i].row.bytes()
	}
	return c, nil
}

// single returns why a command of one write was refused.
func single(err error) error {
	if refused, ok := errors.AsType[*storage.RefusedWrite](err); ok {
		return refused.Reason
	}
	return err
}
