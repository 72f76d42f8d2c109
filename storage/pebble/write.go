package pebble

import (
	"context"

	"attestry/storage"
)

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
