package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/bytedance/sonic"
)

// Collection is the typed view of one collection; T is stored as JSON. It is an interface, so that its methods are
// compiled once for each T, and not again in each package that uses a repository.
type Collection[T any] interface {
	// IDOf derives the id of a document.
	IDOf(value *T) string
	// Get returns one document, or ErrNotFound.
	Get(ctx context.Context, id string) (T, error)
	// GetVersioned is Get with the document's revision.
	GetVersioned(ctx context.Context, id string) (Versioned[T], error)
	// GetOrZero is GetVersioned with revision 0 for a document that does not exist.
	GetOrZero(ctx context.Context, id string) (Versioned[T], error)
	// GetMany returns the documents that exist among ids, in their order: one command per MaxMany.
	GetMany(ctx context.Context, ids []string) ([]T, error)
	// OfIDs reads those documents in batches.
	OfIDs(ids []string) *Batches[T]
	// Insert stores a new document, or returns ErrExists.
	Insert(ctx context.Context, value T) error
	// Add stores the documents whose ids are free: one command per MaxMany.
	Add(ctx context.Context, values ...T) error
	// Put stores documents whether or not they exist: one command per MaxMany.
	Put(ctx context.Context, values ...T) error
	// Replace overwrites a document that is still at a revision and returns its new one, or ErrMoved.
	Replace(ctx context.Context, value T, revision int64) (int64, error)
	// Update reads a document, applies change and writes the result. If the document was written meanwhile, it starts
	// over. It returns the document as written, ErrNotFound, or the error of change. A change may run more than once,
	// so it must have no other effects. Concurrent updates of one document in this process share one write.
	Update(ctx context.Context, id string, change func(*T) error) (T, error)
	// UpdateFrom is Update for a document that was just read: it is read again only if it has changed since, change does
	// not alter it, or updates are combined.
	UpdateFrom(ctx context.Context, seen Versioned[T], change func(*T) error) (T, error)
	// Delete removes documents; absent ones are no error.
	Delete(ctx context.Context, ids ...string) error
	// Find answers a query with a page of documents and the cursor of the next one.
	Find(ctx context.Context, query Query) ([]T, string, error)
	// FindFields is Find for the declared fields alone.
	FindFields(ctx context.Context, query Query) ([]Record, string, error)
	// Count counts what a query finds, at most MaxCount.
	Count(ctx context.Context, query Query) (int64, error)
	// Wrap adds the command, the collection and the subject to an error.
	Wrap(command, subject string, err error) error
	// InsertIn adds the insertion of a document to a batch, and returns its revision.
	InsertIn(b *Batch, value *T) int64
	// ReplaceIn adds the replacement of a document at a revision to a batch, and returns the new revision.
	ReplaceIn(b *Batch, value *T, revision int64) int64
	// StoreIn is ReplaceIn, or InsertIn if revision is 0, as that of a missing document.
	StoreIn(b *Batch, value *T, revision int64) int64
	// PutIn adds documents to a batch that are stored whether or not they exist.
	PutIn(b *Batch, values ...T)
	// AddIn adds documents to a batch that are stored unless they exist.
	AddIn(b *Batch, values ...T)
	// AddEncodedIn is AddIn for a document that is encoded as JSON already.
	AddEncodedIn(b *Batch, value *T, body []byte)
	// DeleteIn adds the removal of documents to a batch.
	DeleteIn(b *Batch, ids ...string)
	// CheckIn adds the condition to a batch that a document is at a revision, or missing if that is 0.
	CheckIn(b *Batch, id string, revision int64)

	// findPage is Find with the whole page.
	findPage(ctx context.Context, query Query) ([]T, Page, error)
}

type collection[T any] struct {
	schema  *Schema
	docs    Documents
	id      func(*T) string
	fields  func(*T) map[string]any
	updates *Combiner[*update[T]]
}

// NewCollection binds a declared collection to an engine. id and fields derive a document's id and declared fields.
func NewCollection[T any](docs Documents, schema *Schema, id func(*T) string, fields func(*T) map[string]any) Collection[T] {
	c := &collection[T]{schema: schema, docs: docs, id: id, fields: fields}
	c.updates = NewCombiner(c.updateAll)
	if catalog := catalogOf(docs); catalog != nil {
		catalog.register(schema, c.references)
	}
	return c
}

func (c *collection[T]) IDOf(value *T) string { return c.id(value) }

// Versioned is a document with the revision it was read at, for Replace.
type Versioned[T any] struct {
	Value    T
	Revision int64
}

func (c *collection[T]) Get(ctx context.Context, id string) (T, error) {
	v, err := c.GetVersioned(ctx, id)
	return v.Value, err
}

func (c *collection[T]) GetVersioned(ctx context.Context, id string) (Versioned[T], error) {
	record, err := c.docs.Get(ctx, c.schema, id)
	if err != nil {
		return Versioned[T]{}, c.Wrap("get", id, err)
	}
	value, err := c.decode(record)
	return Versioned[T]{Value: value, Revision: record.Revision}, err
}

func (c *collection[T]) GetOrZero(ctx context.Context, id string) (Versioned[T], error) {
	seen, err := c.GetVersioned(ctx, id)
	return seen, IgnoreMissing(err)
}

func (c *collection[T]) OfIDs(ids []string) *Batches[T] { return batchesByID(c.GetMany, ids) }

func (c *collection[T]) GetMany(ctx context.Context, ids []string) ([]T, error) {
	var values []T
	for some := range slices.Chunk(ids, MaxMany) {
		records, err := c.docs.GetMany(ctx, c.schema, some)
		if err != nil {
			return nil, c.Wrap("get many", "", err)
		}
		found, err := c.decodeAll(records)
		if err != nil {
			return nil, err
		}
		values = append(values, found...)
	}
	return values, nil
}

func (c *collection[T]) Insert(ctx context.Context, value T) error {
	b := &Batch{}
	c.InsertIn(b, &value)
	return c.Wrap("insert", "", b.Write(ctx, c.docs))
}

func (c *collection[T]) Add(ctx context.Context, values ...T) error {
	b := &Batch{}
	c.AddIn(b, values...)
	return c.Wrap("add", "", b.Write(ctx, c.docs))
}

func (c *collection[T]) Put(ctx context.Context, values ...T) error {
	b := &Batch{}
	c.PutIn(b, values...)
	return c.Wrap("put", "", b.Write(ctx, c.docs))
}

func (c *collection[T]) Replace(ctx context.Context, value T, revision int64) (int64, error) {
	b := &Batch{}
	written := c.ReplaceIn(b, &value, revision)
	return written, c.Wrap("replace", "", b.Write(ctx, c.docs))
}

func (c *collection[T]) Update(ctx context.Context, id string, change func(*T) error) (T, error) {
	return c.combine(ctx, id, nil, change)
}

func (c *collection[T]) UpdateFrom(ctx context.Context, seen Versioned[T], change func(*T) error) (T, error) {
	record, err := c.encode(&seen.Value)
	if err != nil {
		var zero T
		return zero, err
	}
	record.Revision = seen.Revision
	return c.combine(ctx, record.ID, &record, change)
}

func (c *collection[T]) Delete(ctx context.Context, ids ...string) error {
	b := &Batch{}
	c.DeleteIn(b, ids...)
	return c.Wrap("delete", "", b.Write(ctx, c.docs))
}

func (c *collection[T]) Find(ctx context.Context, query Query) ([]T, string, error) {
	values, page, err := c.findPage(ctx, query)
	return values, page.Next, err
}

func (c *collection[T]) findPage(ctx context.Context, query Query) ([]T, Page, error) {
	page, err := c.docs.Find(ctx, c.schema, query)
	if err != nil {
		return nil, Page{}, c.Wrap("find", query.Index, err)
	}
	values, err := c.decodeAll(page.Records)
	return values, page, err
}

func (c *collection[T]) FindFields(ctx context.Context, query Query) ([]Record, string, error) {
	query.FieldsOnly = true
	page, err := c.docs.Find(ctx, c.schema, query)
	return page.Records, page.Next, c.Wrap("find", query.Index, err)
}

func (c *collection[T]) Count(ctx context.Context, query Query) (int64, error) {
	n, err := c.docs.Count(ctx, c.schema, query)
	return n, c.Wrap("count", query.Index, err)
}

func (c *collection[T]) encode(value *T) (Record, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return Record{}, fmt.Errorf("encode a document of %s: %w", c.schema.Name, err)
	}
	return c.record(value, body), nil
}

func (c *collection[T]) record(value *T, body []byte) Record {
	record := Record{ID: c.id(value), Revision: newRevision(), Body: body}
	if c.fields != nil {
		record.Fields = c.fields(value)
	}
	return record
}

func (c *collection[T]) decode(record Record) (T, error) {
	var value T
	if err := sonic.ConfigStd.Unmarshal(record.Body, &value); err != nil {
		// The message omits the id, as that of a key is a hash that clients must not see.
		return value, Damaged("A stored document of "+c.schema.Name+" is damaged", fmt.Errorf("decode %s: %w", record.ID, err))
	}
	return value, nil
}

func (c *collection[T]) references(record Record) (References, error) {
	value, err := c.decode(record)
	if err != nil {
		return References{}, err
	}
	if id := c.id(&value); id != record.ID && !c.schema.ContentAddressed {
		return References{}, fmt.Errorf("%w: its content is that of the document %s", ErrDamaged, id)
	}
	return referencesOf(&value), nil
}

func (c *collection[T]) decodeAll(records []Record) ([]T, error) {
	values := make([]T, 0, len(records))
	for _, record := range records {
		value, err := c.decode(record)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

func (c *collection[T]) Wrap(command, subject string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s %s: %w", command, c.schema.Name, subject, err)
}

func newRevision() int64 { return rand.Int64N(1<<62) + 1 }
