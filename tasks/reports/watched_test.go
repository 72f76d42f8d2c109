package reports_test

import (
	"context"
	"sync/atomic"

	"attestry/storage"
	"attestry/storage/storagetest"
)

// watched lets tests stand around the commands that a process gives its engine.
type watched struct {
	storage.Documents
	// around runs a command, which may be a write.
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

// Write gives the engine a command for each write.
func (w *watched) Write(ctx context.Context, writes ...storage.Write) error {
	return storagetest.WriteOneByOne(writes, func(write storage.Write) error {
		return w.around(true, func() error { return w.Documents.Write(ctx, write) })
	})
}

// interruption happens once, before the command of a number, or the write if
// onlyWrites.
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
