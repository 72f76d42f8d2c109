package pebble

import (
	"bytes"
	"maps"

	"attestry/storage"
)

// group collects several commands in one batch.
type group struct {
	db *DB
	// edits have failed if a part of a command is missing in the batch.
	edits
	// changed are the documents that the group has changed, by the key of the record. The head of a deleted one is nil.
	changed map[string]head
	// own are the documents that the current command changes. They are added to changed if it is not refused.
	own      map[string]head
	replaced []replaced // by the steps of the current command
}

// replaced is what a step replaces: the head of a record, or nil, and the index keys. skip means that it does nothing.
type replaced struct {
	head    head
	entries [][]byte
	skip    bool
}

func (g *group) begin() {
	g.batch.Reset()
	clear(g.changed)
	g.err = nil
}

// add adds a command to the batch. A refused command adds nothing.
func (g *group) add(c *command) error {
	if err := g.checkAll(c); err != nil {
		return err
	}
	maps.Copy(g.changed, g.own)
	for i := range c.steps {
		g.write(&c.steps[i], g.replaced[i])
	}
	return explain(g.db.folder, g.err)
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

func (g *group) write(s *step, r replaced) {
	if r.skip {
		return
	}
	if s.kind == storage.WriteDelete {
		g.delete(s.row.key)
	} else {
		g.set(s.row.key, s.row.value)
	}
	switch {
	case s.row.body != nil:
		g.set(s.row.bodyKey(), s.row.body)
	case r.head != nil && r.head.apart():
		g.delete(s.row.bodyKey())
	}
	g.writeEntries(r.entries, s.row.entries)
}

// writeEntries replaces the index entries of a document. Either list may be nil.
func (g *group) writeEntries(old, entries [][]byte) {
	for i, key := range old {
		if key != nil && (entries == nil || !bytes.Equal(key, entries[i])) {
			g.delete(key)
		}
	}
	for i, key := range entries {
		if key != nil && (old == nil || !bytes.Equal(key, old[i])) {
			g.set(key, nil)
		}
	}
}
