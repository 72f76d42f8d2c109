package sqlite

import (
	"context"
	"encoding/json"

	"attestry/storage"
)

// row is a record as it is written. It is made before the write is queued, so that
// a caller who gives up may do with the record's fields as he likes.
type row struct {
	id, fields string
	revision   int64
	body       []byte
}

func newRow(record storage.Record) row {
	body := record.Body
	if body == nil {
		body = []byte{}
	}
	return row{id: record.ID, revision: record.Revision, fields: storage.EncodeFields(record.Fields), body: body}
}

func newRows(records []storage.Record) (rows []row, bytes int) {
	rows = make([]row, 0, len(records))
	for _, record := range records {
		rows = append(rows, newRow(record))
		bytes += len(record.Body)
	}
	return rows, bytes
}

func (r *row) insert(s *session, text string) (int64, error) {
	return s.exec(text, r.id, r.revision, r.fields, r.body)
}

func (r *row) replace(s *session, text string, revision int64) (int64, error) {
	return s.exec(text, r.revision, r.fields, r.body, r.id, revision)
}

// Insert stores a new document, or returns storage.ErrExists.
func (db *DB) Insert(ctx context.Context, schema *storage.Schema, record storage.Record) error {
	table, err := db.writable(schema, record)
	if err != nil {
		return err
	}
	row := newRow(record)
	return db.write(ctx, len(row.body), func(s *session) error {
		n, err := row.insert(s, table.insert)
		if err == nil && n == 0 {
			return storage.ErrExists
		}
		return err
	})
}

// InsertMany stores those of the records whose ids are free and returns their
// number.
func (db *DB) InsertMany(ctx context.Context, schema *storage.Schema, records []storage.Record) (int, error) {
	table, err := db.writable(schema, records...)
	if err != nil || len(records) == 0 {
		return 0, err
	}
	rows, bytes := newRows(records)
	stored := 0
	err = db.write(ctx, bytes, func(s *session) error {
		stored = 0 // the transaction may be done again
		for i := range rows {
			n, err := rows[i].insert(s, table.insert)
			if err != nil {
				return err
			}
			stored += int(n)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return stored, nil
}

// Put stores documents, whether or not their ids are taken.
func (db *DB) Put(ctx context.Context, schema *storage.Schema, records ...storage.Record) error {
	table, err := db.writable(schema, records...)
	if err != nil || len(records) == 0 {
		return err
	}
	rows, bytes := newRows(records)
	return db.write(ctx, bytes, func(s *session) error {
		for i := range rows {
			if _, err := rows[i].insert(s, table.put); err != nil {
				return err
			}
		}
		return nil
	})
}

// Replace overwrites a document whose revision still is the given one, or returns
// storage.ErrMoved.
func (db *DB) Replace(ctx context.Context, schema *storage.Schema, record storage.Record, revision int64) error {
	table, err := db.writable(schema, record)
	if err != nil {
		return err
	}
	row := newRow(record)
	return db.write(ctx, len(row.body), func(s *session) error {
		n, err := row.replace(s, table.replace, revision)
		if err == nil && n == 0 {
			return storage.ErrMoved
		}
		return err
	})
}

// Delete removes documents; absent ones are no error.
func (db *DB) Delete(ctx context.Context, schema *storage.Schema, ids ...string) error {
	table, err := db.table(schema)
	if err != nil || len(ids) == 0 {
		return err
	}
	if err := storage.CheckIDs(ids...); err != nil {
		return err
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	return db.write(ctx, 0, func(s *session) error {
		_, err := s.exec(table.delete, string(list))
		return err
	})
}

// write has a write done and explains why it failed.
func (db *DB) write(ctx context.Context, bytes int, apply func(*session) error) error {
	return db.explainWrite(db.writer.do(ctx, bytes, apply))
}

func (db *DB) writable(schema *storage.Schema, records ...storage.Record) (*table, error) {
	table, err := db.table(schema)
	if err != nil {
		return nil, err
	}
	return table, storage.CheckRecords(schema, records...)
}
