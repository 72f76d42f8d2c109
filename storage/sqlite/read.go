package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"attestry/storage"
)

// Get returns one document, or storage.ErrNotFound.
func (db *DB) Get(ctx context.Context, schema *storage.Schema, id string) (storage.Record, error) {
	table, err := db.table(schema)
	if err != nil {
		return storage.Record{}, err
	}
	if err := storage.CheckIDs(id); err != nil {
		return storage.Record{}, err
	}
	record := storage.Record{}
	err = db.read(ctx, func(s *session) error {
		return s.query(table.get, []any{id}, func(rows *sql.Rows) (err error) {
			if record, err = scanRecord(rows); err != nil {
				return err
			}
			return storage.ChargeRead(ctx, len(record.Body))
		})
	})
	if err == nil && record.ID == "" {
		err = storage.ErrNotFound
	}
	return record, err
}

// GetMany returns the documents that exist among ids, in the order of ids.
func (db *DB) GetMany(ctx context.Context, schema *storage.Schema, ids []string) ([]storage.Record, error) {
	table, err := db.table(schema)
	if err != nil {
		return nil, err
	}
	if err := storage.CheckIDs(ids...); err != nil {
		return nil, err
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	found := make(map[string]storage.Record, len(ids))
	err = db.read(ctx, func(s *session) error {
		return s.query(table.getMany, []any{string(list)}, func(rows *sql.Rows) error {
			record, err := scanRecord(rows)
			if err != nil {
				return err
			}
			found[record.ID] = record
			return storage.ChargeRead(ctx, len(record.Body))
		})
	})
	return storage.InOrder(ids, found), err
}

func scanRecord(rows *sql.Rows) (storage.Record, error) {
	record := storage.Record{}
	var fields string
	if err := rows.Scan(&record.ID, &record.Revision, &fields, &record.Body); err != nil {
		return storage.Record{}, err
	}
	if record.Body == nil {
		record.Body = []byte{} // the driver makes no difference
	}
	var err error
	if record.Fields, err = storage.DecodeFields(fields); err != nil {
		return storage.Record{}, fmt.Errorf("fields of %s: %w", record.ID, err)
	}
	return record, nil
}
