package storagetest

import (
	"context"

	"attestry/storage"
)

// Command is one call to an engine.
type Command struct {
	Ctx context.Context
	// Method is the name of the method of storage.Documents.
	Method string
	// Writes are the arguments of Write; reads have none.
	Writes []storage.Write
}

// Interceptor passes each command to an engine through a function.
type Interceptor struct {
	storage.Documents
	// Around calls run for a command, or returns an error instead.
	Around func(command Command, run func() error) error
}

func (i *Interceptor) read(ctx context.Context, method string, run func() error) error {
	return i.Around(Command{Ctx: ctx, Method: method}, run)
}

// Get is a command that reads.
func (i *Interceptor) Get(ctx context.Context, schema *storage.Schema, id string) (record storage.Record, err error) {
	err = i.read(ctx, "Get", func() (err error) { record, err = i.Documents.Get(ctx, schema, id); return err })
	return record, err
}

// GetMany is a command that reads.
func (i *Interceptor) GetMany(ctx context.Context, schema *storage.Schema, ids []string) (records []storage.Record, err error) {
	err = i.read(ctx, "GetMany", func() (err error) { records, err = i.Documents.GetMany(ctx, schema, ids); return err })
	return records, err
}

// Find is a command that reads.
func (i *Interceptor) Find(ctx context.Context, schema *storage.Schema, query storage.Query) (page storage.Page, err error) {
	err = i.read(ctx, "Find", func() (err error) { page, err = i.Documents.Find(ctx, schema, query); return err })
	return page, err
}

// Count is a command that reads.
func (i *Interceptor) Count(ctx context.Context, schema *storage.Schema, query storage.Query) (n int64, err error) {
	err = i.read(ctx, "Count", func() (err error) { n, err = i.Documents.Count(ctx, schema, query); return err })
	return n, err
}

// List is a command that reads.
func (i *Interceptor) List(ctx context.Context, schema *storage.Schema, after string, limit, maxBytes int) (records []storage.Record, err error) {
	err = i.read(ctx, "List", func() (err error) { records, err = i.Documents.List(ctx, schema, after, limit, maxBytes); return err })
	return records, err
}

// Write is a command that writes.
func (i *Interceptor) Write(ctx context.Context, writes ...storage.Write) error {
	return i.Around(Command{Ctx: ctx, Method: "Write", Writes: writes}, func() error { return i.Documents.Write(ctx, writes...) })
}

// BeforeWrites returns an engine that calls before with each write of a command. An error of before is returned instead
// of the command.
func BeforeWrites(docs storage.Documents, before func(write storage.Write) error) storage.Documents {
	return &Interceptor{Documents: docs, Around: func(command Command, run func() error) error {
		for _, write := range command.Writes {
			if err := before(write); err != nil {
				return err
			}
		}
		return run()
	}}
}
