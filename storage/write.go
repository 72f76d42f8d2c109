package storage

import (
	"context"
	"errors"
	"fmt"
)

// WriteKind says what a Write does.
type WriteKind int

// The kinds of writes.
const (
	// WriteInsert stores a new document; ErrExists refuses it.
	WriteInsert WriteKind = iota
	// WriteReplace overwrites a document that still is at Write.Revision; ErrMoved refuses it.
	WriteReplace
	// WritePut stores a document whether or not its id is taken.
	WritePut
	// WriteDelete removes a document; an absent one is no error.
	WriteDelete
	// WriteCheck writes nothing; ErrMoved refuses it unless the document is at Write.Revision, or missing if that is 0.
	WriteCheck
	// WriteAdd stores a document unless its id is taken.
	WriteAdd
)

// Write is one of the writes of Documents.Write.
type Write struct {
	Kind   WriteKind
	Schema *Schema
	// Record is what is written; WriteDelete and WriteCheck use only its ID.
	Record Record
	// Revision is the expected one of WriteReplace and WriteCheck.
	Revision int64
}

// RefusedWrite is the error of Documents.Write for the first write that was refused.
type RefusedWrite struct {
	// Index is the position of the write in the command.
	Index int
	// Reason is ErrExists or ErrMoved.
	Reason error
}

// Error says which write was refused and why.
func (r *RefusedWrite) Error() string { return fmt.Sprintf("write %d: %v", r.Index, r.Reason) }

// Unwrap returns the reason.
func (r *RefusedWrite) Unwrap() error { return r.Reason }

// CheckWrites reports whether writes can be done in one command.
func CheckWrites(writes []Write) error {
	if len(writes) > MaxMany {
		return fmt.Errorf("%d writes in one command", len(writes))
	}
	for i := range writes {
		if err := checkWrite(&writes[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkWrite(w *Write) error {
	if w.Schema == nil {
		return errors.New("a write to no collection")
	}
	switch w.Kind {
	case WriteInsert, WriteAdd, WritePut:
		return checkRecord(w.Schema, &w.Record)
	case WriteReplace:
		if w.Revision == 0 {
			return errors.New("a replacement without the expected revision")
		}
		return checkRecord(w.Schema, &w.Record)
	case WriteDelete, WriteCheck:
		return CheckIDs(w.Record.ID)
	}
	return fmt.Errorf("a write of unknown kind %d", w.Kind)
}

// Batch collects writes for Documents.Write. The zero value is empty. Collection.InsertIn, AddIn, ReplaceIn,
// StoreIn, PutIn, DeleteIn and CheckIn add to it.
type Batch struct {
	writes []Write
	err    error
}

// Len is how many writes were added.
func (b *Batch) Len() int { return len(b.writes) }

// Write does the added writes in order: one command per MaxMany, none for an empty batch. See Documents.Write.
func (b *Batch) Write(ctx context.Context, docs Documents) error {
	if b.err != nil || len(b.writes) == 0 {
		return b.err
	}
	for start := 0; start < len(b.writes); start += MaxMany {
		err := docs.Write(ctx, b.writes[start:min(start+MaxMany, len(b.writes))]...)
		if refused, ok := errors.AsType[*RefusedWrite](err); ok {
			refused.Index += start
			w := &b.writes[refused.Index]
			return fmt.Errorf("%s %s: %w", w.Schema.Name, w.Record.ID, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Append adds all writes of another batch.
func (b *Batch) Append(other *Batch) {
	b.writes = append(b.writes, other.writes...)
	b.err = errors.Join(b.err, other.err)
}

func (c *collection[T]) InsertIn(b *Batch, value *T) int64 {
	return c.addTo(b, WriteInsert, value, 0)
}

func (c *collection[T]) ReplaceIn(b *Batch, value *T, revision int64) int64 {
	return c.addTo(b, WriteReplace, value, revision)
}

func (c *collection[T]) StoreIn(b *Batch, value *T, revision int64) int64 {
	if revision == 0 {
		return c.InsertIn(b, value)
	}
	return c.ReplaceIn(b, value, revision)
}

func (c *collection[T]) PutIn(b *Batch, values ...T) {
	for i := range values {
		c.addTo(b, WritePut, &values[i], 0)
	}
}

func (c *collection[T]) AddIn(b *Batch, values ...T) {
	for i := range values {
		c.addTo(b, WriteAdd, &values[i], 0)
	}
}

func (c *collection[T]) AddEncodedIn(b *Batch, value *T, body []byte) {
	b.writes = append(b.writes, Write{Kind: WriteAdd, Schema: c.schema, Record: c.record(value, body)})
}

func (c *collection[T]) DeleteIn(b *Batch, ids ...string) {
	for _, id := range ids {
		b.writes = append(b.writes, Write{Kind: WriteDelete, Schema: c.schema, Record: Record{ID: id}})
	}
}

func (c *collection[T]) CheckIn(b *Batch, id string, revision int64) {
	b.writes = append(b.writes, Write{Kind: WriteCheck, Schema: c.schema, Record: Record{ID: id}, Revision: revision})
}

func (c *collection[T]) addTo(b *Batch, kind WriteKind, value *T, revision int64) int64 {
	record, err := c.encode(value)
	if err != nil {
		b.err = errors.Join(b.err, err)
		return 0
	}
	b.writes = append(b.writes, Write{Kind: kind, Schema: c.schema, Record: record, Revision: revision})
	return record.Revision
}
