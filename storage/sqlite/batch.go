package sqlite

import (
	"context"
	"database/sql"

	"attestry/storage"
)

// Write does all of the writes, or none if one of them is refused.
func (db *DB) Write(ctx context.Context, writes ...storage.Write) error {
	if err := storage.CheckWrites(writes); err != nil || len(writes) == 0 {
		return err
	}
	steps := make([]step, 0, len(writes))
	bytes := 0
	for i := range writes {
		table, err := db.table(writes[i].Schema)
		if err != nil {
			return err
		}
		steps = append(steps, newStep(table, &writes[i]))
		bytes += len(writes[i].Record.Body)
	}
	return db.write(ctx, bytes, func(s *session) error {
		for i := range steps {
			reason, err := steps[i].apply(s)
			if err != nil {
				return err
			}
			if reason != nil {
				return &storage.RefusedWrite{Index: i, Reason: reason}
			}
		}
		return nil
	})
}

// step is a write of a batch. Like a row, it is made before the batch is queued.
type step struct {
	kind     storage.WriteKind
	table    *table
	row      row
	revision int64
}

func newStep(t *table, w *storage.Write) step {
	s := step{kind: w.Kind, table: t, row: row{id: w.Record.ID}, revision: w.Revision}
	if w.Kind != storage.WriteDelete && w.Kind != storage.WriteCheck {
		s.row = newRow(w.Record)
	}
	return s
}

// apply does a write, or returns the reason for which it is refused.
func (w *step) apply(s *session) (reason, err error) {
	var changed int64
	switch w.kind {
	case storage.WriteInsert:
		changed, err = w.row.insert(s, w.table.insert)
		reason = storage.ErrExists
	case storage.WriteReplace:
		changed, err = w.row.replace(s, w.table.replace, w.revision)
		reason = storage.ErrMoved
	case storage.WriteAdd:
		_, err = w.row.insert(s, w.table.insert)
		return nil, err
	case storage.WritePut:
		_, err = w.row.insert(s, w.table.put)
		return nil, err
	case storage.WriteDelete:
		_, err = s.exec(w.table.deleteOne, w.row.id)
		return nil, err
	case storage.WriteCheck:
		found := int64(0)
		err = s.query(w.table.revision, []any{w.row.id}, func(rows *sql.Rows) error { return rows.Scan(&found) })
		if err == nil && found != w.revision {
			return storage.ErrMoved, nil
		}
		return nil, err
	}
	if err != nil || changed > 0 {
		return nil, err
	}
	return reason, nil
}
