package apptest

import (
	"context"
	"errors"
	"sync/atomic"

	"attestry/storage"
	"attestry/storage/storagetest"
)

// ErrKilled is the error of every command after the process has died.
var ErrKilled = errors.New("the process is dead")

// FaultInjector lets a process die at a write: no command succeeds from then on.
type FaultInjector struct {
	storage.Documents
	write    int64
	after    bool
	writes   atomic.Int64
	Commands atomic.Int64
	Dead     atomic.Bool
	Largest  atomic.Int64 // bytes of a document that was inserted
}

// NewFaultInjector lets a process die at its n-th write to an engine, before or after it; 0
// means that it lives on.
func NewFaultInjector(docs storage.Documents, write int64, after bool) *FaultInjector {
	return &FaultInjector{Documents: docs, write: write, after: after}
}

func (d *FaultInjector) around(write bool, command func() error) error {
	d.Commands.Add(1)
	mine := write && d.writes.Add(1) == d.write
	if d.Dead.Load() || mine && !d.after {
		d.Dead.Store(true)
		return ErrKilled
	}
	err := command()
	if mine {
		d.Dead.Store(true)
		return ErrKilled
	}
	return err
}

// Get fails if the process is dead.
func (d *FaultInjector) Get(ctx context.Context, s *storage.Schema, id string) (r storage.Record, err error) {
	err = d.around(false, func() error { r, err = d.Documents.Get(ctx, s, id); return err })
	return r, err
}

// GetMany fails if the process is dead.
func (d *FaultInjector) GetMany(ctx context.Context, s *storage.Schema, ids []string) (r []storage.Record, err error) {
	err = d.around(false, func() error { r, err = d.Documents.GetMany(ctx, s, ids); return err })
	return r, err
}

// Find fails if the process is dead.
func (d *FaultInjector) Find(ctx context.Context, s *storage.Schema, q storage.Query) (p storage.Page, err error) {
	err = d.around(false, func() error { p, err = d.Documents.Find(ctx, s, q); return err })
	return p, err
}

// List fails if the process is dead.
func (d *FaultInjector) List(ctx context.Context, s *storage.Schema, after string, limit, maxBytes int) (r []storage.Record, err error) {
	err = d.around(false, func() error { r, err = d.Documents.List(ctx, s, after, limit, maxBytes); return err })
	return r, err
}

// Insert counts as a write, at which the process may die.
func (d *FaultInjector) Insert(ctx context.Context, s *storage.Schema, r storage.Record) error {
	d.Largest.Store(max(d.Largest.Load(), int64(len(r.Body))))
	return d.around(true, func() error { return d.Documents.Insert(ctx, s, r) })
}

// Replace counts as a write, at which the process may die.
func (d *FaultInjector) Replace(ctx context.Context, s *storage.Schema, r storage.Record, revision int64) error {
	return d.around(true, func() error { return d.Documents.Replace(ctx, s, r, revision) })
}

// Put counts as a write, at which the process may die.
func (d *FaultInjector) Put(ctx context.Context, s *storage.Schema, r ...storage.Record) error {
	return d.around(true, func() error { return d.Documents.Put(ctx, s, r...) })
}

// Write counts as several writes, at each of which the process may die.
func (d *FaultInjector) Write(ctx context.Context, writes ...storage.Write) error {
	return storagetest.WriteOneByOne(writes, func(write storage.Write) error {
		d.Largest.Store(max(d.Largest.Load(), int64(len(write.Record.Body))))
		return d.around(write.Kind != storage.WriteCheck, func() error { return d.Documents.Write(ctx, write) })
	})
}
