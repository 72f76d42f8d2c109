package storage_test

import (
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/storage/sqlite"
	"context"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// counted counts the commands that reach an engine.
type counted struct {
	storage.Documents
	commands atomic.Int64
}

func (c *counted) Get(ctx context.Context, schema *storage.Schema, id string) (storage.Record, error) {
	c.commands.Add(1)
	return c.Documents.Get(ctx, schema, id)
}

func (c *counted) GetMany(ctx context.Context, schema *storage.Schema, ids []string) ([]storage.Record, error) {
	c.commands.Add(1)
	return c.Documents.GetMany(ctx, schema, ids)
}

func (c *counted) Insert(ctx context.Context, schema *storage.Schema, record storage.Record) error {
	c.commands.Add(1)
	return c.Documents.Insert(ctx, schema, record)
}

func (c *counted) Replace(ctx context.Context, schema *storage.Schema, record storage.Record, revision int64) error {
	c.commands.Add(1)
	return c.Documents.Replace(ctx, schema, record, revision)
}

func (c *counted) Find(ctx context.Context, schema *storage.Schema, query storage.Query) (storage.Page, error) {
	c.commands.Add(1)
	return c.Documents.Find(ctx, schema, query)
}

// embedded is a store on the embedded engines.
func embedded(t *testing.T) (*storage.Store, *counted, *hands) {
	t.Helper()
	folder := t.TempDir()
	db, err := sqlite.Open(t.Context(), filepath.Join(folder, "documents.db"), storage.Schemas())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	objects, err := filesystem.Open(filepath.Join(folder, "objects"))
	if err != nil {
		t.Fatal(err)
	}
	docs, hands := &counted{Documents: db}, newHands()
	store := storage.NewStore(docs, objects, hands.clock, slog.New(slog.DiscardHandler))
	t.Cleanup(store.Tenancy.Close)
	return store, docs, hands
}
