// Package storage keeps the data of Attestry. It declares two ports, Documents and Objects, that engines implement
// (storage/pebble, storage/mongodb, storage/filesystem, storage/s3), and holds the repositories built on them.
package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"attestry/evidence"
)

var (
	// ErrNotFound reports that no document or object has the id.
	ErrNotFound = errors.New("not found")
	// ErrArchived reports that a name is that of an archived resource. It is an ErrNotFound too.
	ErrArchived = fmt.Errorf("archived: %w", ErrNotFound)
	// ErrExists reports that the id is taken; the stored document is untouched.
	ErrExists = errors.New("exists already")
	// ErrMoved reports that a document is missing, or not at the expected revision.
	ErrMoved = errors.New("revision moved")
	// ErrDamaged reports that stored content is unreadable; a retry does not help. Clients see evidence.Damaged.
	ErrDamaged error = evidence.NewError(evidence.Damaged, "Stored content is damaged")
)

// MaxMany is the greatest number of ids, set values or entries of one command.
const MaxMany = 1000

// MaxBody is the greatest size of a body in bytes; a larger one is evidence.TooLarge. MongoDB allows 16 MiB per record.
const MaxBody = 15 << 20

// MaxScan is how many index entries Find may read for a page. Then the page ends with a cursor.
const MaxScan = 10_000

// MaxCount caps Count.
const MaxCount = 100_000

// Record is a document as engines keep it: an opaque JSON body and the declared fields by which it is found.
// Engines return Body byte for byte.
type Record struct {
	ID string
	// Revision is replaced by every write with a fresh random value, never 0.
	Revision int64
	// Fields holds declared fields; values are string, bool, int64 or float64. An absent or nil value is null and
	// sorts first. One field holds one kind: text, numbers of both types, or bools. Text and ids are valid UTF-8
	// without NUL; all else is evidence.Invalid.
	Fields map[string]any
	Body   []byte
}

// Text returns a field of text, "" if it is null.
func (r *Record) Text(field string) string {
	text, _ := r.Fields[field].(string)
	return text
}

// Float returns a field of numbers, 0 if it is null.
func (r *Record) Float(field string) float64 {
	number, _ := r.Fields[field].(float64)
	return number
}

// Integer returns a field of integers, 0 if it is null.
func (r *Record) Integer(field string) int64 {
	number, _ := r.Fields[field].(int64)
	return number
}

// Schema declares a collection.
type Schema struct {
	Name string
	// Fields are those of all indexes and of residual conditions.
	Fields []string
	// Indexes are all ways to find documents, apart from the id.
	Indexes []Index
	// ContentAddressed says that each id is the SHA-256 of the body in lower-case hex, which verifies the body.
	ContentAddressed bool
	// Opaque says that bodies are any bytes, not JSON of the type of the collection.
	Opaque bool
	// Unconditional says that the collection has no indexes and its bodies are small: an engine need not read a
	// document that it overwrites or deletes.
	Unconditional bool
}

// NewSchema declares a collection whose fields are those of its indexes.
func NewSchema(name string, indexes ...Index) *Schema {
	fields := slices.Concat(evidence.Map(indexes, func(index Index) []string { return index.Fields })...)
	return &Schema{Name: name, Fields: evidence.Distinct(fields), Indexes: indexes}
}

// With declares fields that no index has.
func (s *Schema) With(fields ...string) *Schema {
	s.Fields = append(s.Fields, fields...)
	return s
}

// Index orders a collection by its fields, then by id.
type Index struct {
	Name   string
	Fields []string
	// Required is one of the fields, or "". Documents without it need not be in the index: no query may ask for them.
	Required string
	// Only is the one value of Required that queries ask for, nil for any. Other documents need not be in the index.
	Only any
}

// IndexNamed returns the index of that name.
func (s *Schema) IndexNamed(name string) (Index, bool) {
	return evidence.First(s.Indexes, func(index Index) bool { return index.Name == name })
}

// Query is a query of one declared index. Entries come in the order of the index's fields after Equal, then of id;
// those of a set in Equal are merged into that order.
type Query struct {
	// Index names a declared index of the collection.
	Index string
	// Equal gives the values of the index's leading fields. One of them may be an In.
	Equal []any
	// From and To bound the field after Equal; nil is open. Null is outside of every bound.
	From, To *Bound
	// Descending reverses the order.
	Descending bool
	// After is the cursor that ended the page before, for the same query. It excludes Offset.
	After string
	// Offset skips matching entries, for page-numbered lists. If MaxScan ends the page, the cursor has the rest of it.
	Offset int
	// Limit is how many entries are wanted, 1 to MaxMany.
	Limit int
	// MaxBytes ends a page before its bodies exceed it; a page has at least one record. 0 is no bound.
	MaxBytes int
	// Where keeps entries that meet all conditions.
	Where []Condition
	// FieldsOnly omits the bodies.
	FieldsOnly bool
}

// In is a set of values for one field of Query.Equal, at most MaxMany.
type In []any

// Bound is one end of a range.
type Bound struct {
	Value     any
	Exclusive bool
}

// Operator is how a residual condition compares.
type Operator int

// The residual conditions.
const (
	// Equals keeps entries whose field is Value; nil asks for null.
	Equals Operator = iota
	// OneOf keeps entries whose field is among Value, an In.
	OneOf
	// Contains keeps entries whose field holds Value as a substring.
	Contains
	// ContainsFold is Contains without regard to letter case.
	ContainsFold
	// Matches keeps entries whose field matches Value, an RE2 pattern.
	Matches
	// AtLeast keeps entries whose field is Value or greater; never null.
	AtLeast
	// AtMost keeps entries whose field is Value or less; never null.
	AtMost
)

// Condition is a residual condition on a declared field.
type Condition struct {
	Field    string
	Operator Operator
	Value    any
}

// Page is an answer of Find.
type Page struct {
	Records []Record
	// Next is the cursor of the next page, "" if none. A short or empty page may have one (MaxScan, Query.MaxBytes).
	Next string
	// Full means that Query.MaxBytes ended the page.
	Full bool
}

// Documents is the only way to the database. Every method is one command. A write that returned nil is durable: it
// survives the loss of the process and, where the engine is replicated, of a minority of its nodes. Reads see every
// acknowledged write and call ChargeRead for each body. All methods are safe for concurrent use.
type Documents interface {
	// Get returns one document, or ErrNotFound.
	Get(ctx context.Context, schema *Schema, id string) (Record, error)
	// GetMany returns the documents that exist among ids (at most MaxMany), in their order.
	GetMany(ctx context.Context, schema *Schema, ids []string) ([]Record, error)
	// Write does writes to any collections (at most MaxMany) in order. The first refused write ends it: the error is a
	// *RefusedWrite, and no later write was done. After a refusal or a crash, any number of the first writes may have been
	// done, but none without all before it.
	Write(ctx context.Context, writes ...Write) error
	// Find answers a query.
	Find(ctx context.Context, schema *Schema, query Query) (Page, error)
	// Count counts what a query without cursor, offset, limit and conditions finds, at most MaxCount.
	Count(ctx context.Context, schema *Schema, query Query) (int64, error)
	// List returns the documents of a collection in the order of their ids' bytes, after an id: at most limit (1 to
	// MaxMany), and after the first only as many as fit maxBytes. It returns none only at the end of the collection.
	List(ctx context.Context, schema *Schema, after string, limit, maxBytes int) ([]Record, error)
	// Ping reports whether the database answers.
	Ping(ctx context.Context) error
	// Close ends all running work and releases the resources of the engine.
	Close() error
}
