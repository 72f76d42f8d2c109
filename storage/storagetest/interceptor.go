package storagetest

import (
	"context"

	"attestry/storage"
)

// Command is a command to an engine.
type Command struct {
	// Method is the name of the method of storage.Documents.
	Method string
	// Writes are what it writes; a command that reads has none.
	Writes []storage.Write
}

// Interceptor gives the commands to an engine to a function.
type Interceptor struct {
	storage.Documents
	// Around calls run for a command, or returns an error instead.
	Around func(command Command, run func() error) error
}

func (i *Interceptor) read(method string, run func() error) error {
	return i.Around(Command{Method: method}, run)
}

func (i *Interceptor) write(method string, kind storage.WriteKind, schema *storage.Schema, records []storage.Record, run func() error) error {
	command := Command{Method: method}
	for _, record := range records {
		command.Writes = append(command.Writes, storage.Write{Kind: kind, Schema: schema, Record: record})
	}
	return i.Around(command, run)
}

// Get is a command that reads.
func (i *Interceptor) Get(ctx context.Context, schema *storage.Schema, id string) (record storage.Record, err error) {
	err = i.read("Get", func() (err error) { record, err = i.Documents.Get(ctx, schema, id); return err })
	return record, err
}

// GetMany is a command that reads.
func (i *Interceptor) GetMany(ctx context.Context, schema *storage.Schema, ids []string) (records []storage.Record, err error) {
	err = i.read("GetMany", func() (err error) { records, err = i.Documents.GetMany(ctx, schema, ids); return err })
	return records, err
}

// Find is a command that reads.
func (i *Interceptor) Find(ctx context.Context, schema *storage.Schema, query storage.Query) (page storage.Page, err error) {
	err = i.read("Find", func() (err error) { page, err = i.Documents.Find(ctx, schema, query); return err })
	return page, err
}

// Count is a command that reads.
func (i *Interceptor) Count(ctx context.Context, schema *storage.Schema, query storage.Query) (n int64, err error) {
	err = i.read("Count", func() (err error) { n, err = i.Documents.Count(ctx, schema, query); return err })
	return n, err
}

// List is a command that reads.
func (i *Interceptor) List(ctx context.Context, schema *storage.Schema, after string, limit, maxBytes int) (records []storage.Record, err error) {
	err = i.read("List", func() (err error) { records, err = i.Documents.List(ctx, schema, after, limit, maxBytes); return err })
	return records, err
}

// Insert is a command that writes.
func (i *Interceptor) Insert(ctx context.Context, schema *storage.Schema, record storage.Record) error {
	return i.write("Insert", storage.WriteInsert, schema, []storage.Record{record}, func() error { return i.Documents.Insert(ctx, schema, record) })
}

// InsertMany is a command that writes.
func (i *Interceptor) InsertMany(ctx context.Context, schema *storage.Schema, records []storage.Record) (n int, err error) {
	err = i.write("InsertMany", storage.WriteAdd, schema, records, func() (err error) { n, err = i.Documents.InsertMany(ctx, schema, records); return err })
	return n, err
}

// Put is a command that writes.
func (i *Interceptor) Put(ctx context.Context, schema *storage.Schema, records ...storage.Record) error {
	return i.write("Put", storage.WritePut, schema, records, func() error { return i.Documents.Put(ctx, schema, records...) })
}

// Replace is a command that writes.
func (i *Interceptor) Replace(ctx context.Context, schema *storage.Schema, record storage.Record, revision int64) error {
	return i.write("Replace", storage.WriteReplace, schema, []storage.Record{record}, func() error { return i.Documents.Replace(ctx, schema, record, revision) })
}

// Delete is a command that writes.
func (i *Interceptor) Delete(ctx context.Context, schema *storage.Schema, ids ...string) error {
	records := make([]storage.Record, 0, len(ids))
	for _, id := range ids {
		records = append(records, storage.Record{ID: id})
	}
	return i.write("Delete", storage.WriteDelete, schema, records, func() error { return i.Documents.Delete(ctx, schema, ids...) })
}

// Write is a command that writes.
func (i *Interceptor) Write(ctx context.Context, writes ...storage.Write) error {
	return i.Around(Command{Method: "Write", Writes: writes}, func() error { return i.Documents.Write(ctx, writes...) })
}
