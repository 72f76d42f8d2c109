package reports_test

import (
	"context"
	"sync/atomic"

	"attestry/storage"
	"attestry/storage/storagetest"
)

// watched is an engine whose commands are run by around.
type watched struct {
	storage.Documents
	// around runs a command; write means that the command writes.
	around func(write bool, run func() error) error
}

func (w *watched) Get(ctx context.Context, s *storage.Schema, id string) (record storage.Record, err error) {
	err = w.around(false, func() (err error) { record, err = w.Documents.Get(ctx, s, id); return err })
	return record, err
}

func (w *watched) GetMany(ctx context.Context, s *storage.Schema, ids []string) (records []storage.Record, err error) {
	err = w.around(false, func() (err error) { records, err = w.Documents.GetMany(ctx, s, ids); return err })
	return records, err
}

func (w *watched) Find(ctx context.Context, s *storage.Schema, query storage.Query) (page storage.Page, err error) {
	err = w.around(false, func() (err error) { page, err = w.Documents.Find(ctx, s, query); return err })
	return page, err
}

// Write does the writes one by one, as separate commands.
func (w *watched) Write(ctx context.Context, writes ...storage.Write) error {
	return storagetest.WriteOneByOne(writes, func(write storage.Write) error {
		return w.around(true, func() error { return w.Documents.Write(ctx, write) })
	})
}

// interruption calls happen once, before the at-th command, or before the at-th write if onlyWrites is set.
type interruption struct {
	at         int64
	onlyWrites bool
	happen     func()
	count      atomic.Int64
}

func (i *interruption) around(write bool, run func() error) error {
	if (write || !i.onlyWrites) && i.count.Add(1) == i.at {
		i.happen()
	}
	return run()
}

// happened reports whether there were that many commands.
func (i *interruption) happened() bool { return i.count.Load() >= i.at }
