package storage_test

import (
	"attestry/storage"
	"context"
	"errors"
	"sync/atomic"
)

var errDied = errors.New("the process is dead")

// dyingDocuments lets a process die at a write: no command succeeds from then on.
type dyingDocuments struct {
	storage.Documents
	write    int64
	after    bool
	writes   atomic.Int64
	commands atomic.Int64
	dead     atomic.Bool
	largest  atomic.Int64 // bytes of a document that was inserted
}

func (d *dyingDocuments) around(write bool, command func() error) error {
	d.commands.Add(1)
	mine := write && d.writes.Add(1) == d.write
	if d.dead.Load() || mine && !d.after {
		d.dead.Store(true)
		return errDied
	}
	err := command()
	if mine {
		d.dead.Store(true)
		return errDied
	}
	return err
}

func (d *dyingDocuments) Get(ctx context.Context, s *storage.Schema, id string) (r storage.Record, err error) {
	err = d.around(false, func() error { r, err = d.Documents.Get(ctx, s, id); return err })
	return r, err
}

func (d *dyingDocuments) GetMany(ctx context.Context, s *storage.Schema, ids []string) (r []storage.Record, err error) {
	err = d.around(false, func() error { r, err = d.Documents.GetMany(ctx, s, ids); return err })
	return r, err
}

func (d *dyingDocuments) Find(ctx context.Context, s *storage.Schema, q storage.Query) (p storage.Page, err error) {
	err = d.around(false, func() error { p, err = d.Documents.Find(ctx, s, q); return err })
	return p, err
}

func (d *dyingDocuments) Insert(ctx context.Context, s *storage.Schema, r storage.Record) error {
	d.largest.Store(max(d.largest.Load(), int64(len(r.Body))))
	return d.around(true, func() error { return d.Documents.Insert(ctx, s, r) })
}

func (d *dyingDocuments) Replace(ctx context.Context, s *storage.Schema, r storage.Record, revision int64) error {
	return d.around(true, func() error { return d.Documents.Replace(ctx, s, r, revision) })
}

func (d *dyingDocuments) Put(ctx context.Context, s *storage.Schema, r ...storage.Record) error {
	return d.around(true, func() error { return d.Documents.Put(ctx, s, r...) })
}
