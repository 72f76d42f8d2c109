package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"attestry/storage"
)

// errFull ends a query whose result has as many bytes as were asked for.
var errFull = errors.New("the result is full")

// List returns documents in the order of their ids.
func (db *DB) List(ctx context.Context, schema *storage.Schema, after string, limit, maxBytes int) ([]storage.Record, error) {
	table, err := db.table(schema)
	if err != nil {
		return nil, err
	}
	if err := storage.CheckList(after, limit, maxBytes); err != nil {
		return nil, err
	}
	var records []storage.Record
	bytes := 0
	err = db.read(ctx, func(s *session) error {
		err := s.query(table.list, []any{after, limit, 0}, func(rows *sql.Rows) error {
			record, err := scanRecord(rows)
			if err != nil {
				return err
			}
			if bytes += len(record.Body); len(records) > 0 && bytes > maxBytes {
				return errFull
			}
			records = append(records, record)
			return errors.Join(ctx.Err(), storage.ChargeRead(ctx, len(record.Body)))
		})
		if errors.Is(err, errFull) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}
