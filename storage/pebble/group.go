package pebble

import (
	"bytes"
	"errors"
	"maps"

	"github.com/cockroachdb/pebble/v2"

	"attestry/storage"
)

// group collects several commands in one batch.
type group struct {
	db    *DB
	batch *pebble.Batch
	// changed are the documents that the group has changed, by the key of the record. The head of a deleted one is nil.
	changed map[string]head
	// own are the documents that the current command changes. They are added to changed if it is not refused.
	own      map[string]head
	replaced []replaced // by the steps of the current command
	// failure is set if a part of a command is missing in the batch, which must not be applied then.
	failure error
}

// replaced is what a step replaces: the head of a record, or nil, and the index keys. skip means that it does nothing.
type replaced struct {
	head    head
	entries [][]byte
	skip    bool
}

func newGroup(db *DB) *group {
	return &group{db: db, batch: db.engine.NewBatch(), changed: map[string]head{}, own: map[string]head{}}
}

func (g *group) begin() {
	g.batch.Reset()
	clear(g.changed)
	g.failure = nil
}

// add adds a command to the batch. A refused command adds nothing.
func (g *group) add(c *command) error {
	if err := g.checkAll(c); err != nil {
		return err
	}
	maps.Copy(g.changed, g.own)
	for i := range c.steps {
		if err := g.write(&c.steps[i], g.replaced[i]); err != nil {
			g.failure = explain(g.db.folder, err)
			return g.failure
		}
	}
	return nil
}

func (g *group) checkAll(c *command) error {
	clear(g.own)
	g.replaced = g.replaced[:0]
	return withReader(g.db.engine, g.db.folder, len(c.steps), func(from reader) error {
		for i := range c.steps {
			reason, err := g.check(from, &c.steps[i])
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

// check looks up what a step replaces. reason says why the step is refused; nil means that it is not.
func (g *group) check(from reader, s *step) (reason, err error) {
	blind := s.row.collection.schema.Unconditional && (s.kind == storage.WritePut || s.kind == storage.WriteDelete)
	var old head
	if !blind {
		if old, err = g.lookUp(from, s.row.key); err != nil {
			return nil, err
		}
	}
	r := replaced{head: old}
	switch s.kind {
	case storage.WriteInsert:
		if old != nil {
			return storage.ErrExists, nil
		}
	case storage.WriteReplace:
		if old == nil || old.revision() != s.revision {
			return storage.ErrMoved, nil
		}
	case storage.WriteCheck:
		revision := int64(0)
		if old != nil {
			revision = old.revision()
		}
		if revision != s.revision {
			return storage.ErrMoved, nil
		}
		r.skip = true
	case storage.WriteDelete:
		r.skip = old == nil && !blind
	case storage.WriteAdd:
		r.skip = old != nil
	}
	if !r.skip {
		if old != nil {
			fields, err := old.fields()
			if err != nil {
				return nil, explain(g.db.folder, err)
			}
			r.entries = s.row.collection.entriesOf(fields, s.row.id())
		}
		g.own[string(s.row.key)] = s.row.head // nil for a deletion
	}
	g.replaced = append(g.replaced, r)
	return nil, nil
}

// lookUp returns the head of a record after the earlier steps of the command and of the group, or nil.
func (g *group) lookUp(from reader, key []byte) (old head, err error) {
	if h, ok := g.own[string(key)]; ok {
		return h, nil
	}
	if h, ok := g.changed[string(key)]; ok {
		return h, nil
	}
	_, err = from.get(key, func(value []byte) error {
		h, _, err := cutHead(value)
		old = bytes.Clone(h)
		return explain(g.db.folder, err)
	})
	return old, err
}

// write adds a step to the batch. Version 2.1 of Pebble returns no error there.
func (g *group) write(s *step, r replaced) error {
	if r.skip {
		return nil
	}
	return errors.Join(g.writeRecord(s, r), g.writeEntries(r.entries, s.row.entries))
}

func (g *group) writeRecord(s *step, r replaced) error {
	var errs [2]error
	if s.kind == storage.WriteDelete {
		errs[0] = g.batch.Delete(s.row.key, nil)
	} else {
		errs[0] = g.batch.Set(s.row.key, s.row.value, nil)
	}
	switch {
	case s.row.body != nil:
		errs[1] = g.batch.Set(s.row.bodyKey(), s.row.body, nil)
	case r.head != nil && r.head.apart():
		errs[1] = g.batch.Delete(s.row.bodyKey(), nil)
	}
	return errors.Join(errs[:]...)
}

// writeEntries replaces the index entries of a document. Either list may be nil.
func (g *group) writeEntries(old, entries [][]byte) error {
	for i, key := range old {
		if key == nil || entries != nil && bytes.Equal(key, entries[i]) {
			continue
		}
		if err := g.batch.Delete(key, nil); err != nil {
			return err
		}
	}
	for i, key := range entries {
		if key == nil || old != nil && bytes.Equal(key, old[i]) {
			continue
		}
		if err := g.batch.Set(key, nil, nil); err != nil {
			return err
		}
	}
	return nil
}
