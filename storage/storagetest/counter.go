package storagetest

import (
	"context"
	"sync"

	"attestry/storage"
)

// CountingDocuments counts the commands that go to an engine, for tests that bound
// what an operation costs.
type CountingDocuments struct {
	docs  storage.Documents
	mu    sync.Mutex
	costs Costs
}

var _ storage.Documents = (*CountingDocuments)(nil)

// Costs are numbers of commands by method, whether or not they succeeded.
type Costs struct {
	Get, GetMany, Insert, InsertMany, Put, Replace, Delete, Write, Find, Count, List int
	// Bytes is the size of all ids, fields (as JSON) and bodies that were sent to
	// be written.
	Bytes int64
}

// Commands is the number of commands of all methods.
func (c Costs) Commands() int {
	return c.Get + c.GetMany + c.Insert + c.InsertMany + c.Put + c.Replace + c.Delete + c.Write + c.Find + c.Count + c.List
}

// NewCountingDocuments counts what goes to docs.
func NewCountingDocuments(docs storage.Documents) *CountingDocuments {
	return &CountingDocuments{docs: docs}
}

// Snapshot returns the costs since the last Reset.
func (c *CountingDocuments) Snapshot() Costs {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.costs
}

// Reset begins to count anew.
func (c *CountingDocuments) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.costs = Costs{}
}

func (c *CountingDocuments) count(add func(*Costs), records ...storage.Record) {
	bytes := int64(0)
	for _, record := range records {
		bytes += int64(len(record.ID) + len(storage.EncodeFields(record.Fields)) + len(record.Body))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	add(&c.costs)
	c.costs.Bytes += bytes
}

// Get counts and passes on.
func (c *CountingDocuments) Get(ctx context.Context, schema *storage.Schema, id string) (storage.Record, error) {
	c.count(func(costs *Costs) { costs.Get++ })
	return c.docs.Get(ctx, schema, id)
}

// GetMany counts and passes on.
func (c *CountingDocuments) GetMany(ctx context.Context, schema *storage.Schema, ids []string) ([]storage.Record, error) {
	c.count(func(costs *Costs) { costs.GetMany++ })
	return c.docs.GetMany(ctx, schema, ids)
}

// Insert counts and passes on.
func (c *CountingDocuments) Insert(ctx context.Context, schema *storage.Schema, record storage.Record) error {
	c.count(func(costs *Costs) { costs.Insert++ }, record)
	return c.docs.Insert(ctx, schema, record)
}

// InsertMany counts and passes on.
func (c *CountingDocuments) InsertMany(ctx context.Context, schema *storage.Schema, records []storage.Record) (int, error) {
	c.count(func(costs *Costs) { costs.InsertMany++ }, records...)
	return c.docs.InsertMany(ctx, schema, records)
}

// Put counts and passes on.
func (c *CountingDocuments) Put(ctx context.Context, schema *storage.Schema, records ...storage.Record) error {
	c.count(func(costs *Costs) { costs.Put++ }, records...)
	return c.docs.Put(ctx, schema, records...)
}

// Replace counts and passes on.
func (c *CountingDocuments) Replace(ctx context.Context, schema *storage.Schema, record storage.Record, revision int64) error {
	c.count(func(costs *Costs) { costs.Replace++ }, record)
	return c.docs.Replace(ctx, schema, record, revision)
}

// Delete counts and passes on.
func (c *CountingDocuments) Delete(ctx context.Context, schema *storage.Schema, ids ...string) error {
	c.count(func(costs *Costs) { costs.Delete++ })
	return c.docs.Delete(ctx, schema, ids...)
}

// Write counts as one command and passes on.
func (c *CountingDocuments) Write(ctx context.Context, writes ...storage.Write) error {
	records := make([]storage.Record, 0, len(writes))
	for _, write := range writes {
		records = append(records, write.Record)
	}
	c.count(func(costs *Costs) { costs.Write++ }, records...)
	return c.docs.Write(ctx, writes...)
}

// Find counts and passes on.
func (c *CountingDocuments) Find(ctx context.Context, schema *storage.Schema, query storage.Query) (storage.Page, error) {
	c.count(func(costs *Costs) { costs.Find++ })
	return c.docs.Find(ctx, schema, query)
}

// Count counts and passes on.
func (c *CountingDocuments) Count(ctx context.Context, schema *storage.Schema, query storage.Query) (int64, error) {
	c.count(func(costs *Costs) { costs.Count++ })
	return c.docs.Count(ctx, schema, query)
}

// List counts and passes on.
func (c *CountingDocuments) List(ctx context.Context, schema *storage.Schema, after string, limit, maxBytes int) ([]storage.Record, error) {
	c.count(func(costs *Costs) { costs.List++ })
	return c.docs.List(ctx, schema, after, limit, maxBytes)
}

// Ping passes on; it is no command of an operation.
func (c *CountingDocuments) Ping(ctx context.Context) error { return c.docs.Ping(ctx) }

// Close closes the engine.
func (c *CountingDocuments) Close() error { return c.docs.Close() }
