package apptest

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"attestry/app"
	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/storage/pebble/pebbletest"
)

// CommandCounter counts the commands that reach an engine.
type CommandCounter struct {
	storage.Documents
	Commands atomic.Int64
}

// Get counts a command.
func (c *CommandCounter) Get(ctx context.Context, schema *storage.Schema, id string) (storage.Record, error) {
	c.Commands.Add(1)
	return c.Documents.Get(ctx, schema, id)
}

// GetMany counts a command.
func (c *CommandCounter) GetMany(ctx context.Context, schema *storage.Schema, ids []string) ([]storage.Record, error) {
	c.Commands.Add(1)
	return c.Documents.GetMany(ctx, schema, ids)
}

// Insert counts a command.
func (c *CommandCounter) Insert(ctx context.Context, schema *storage.Schema, record storage.Record) error {
	c.Commands.Add(1)
	return c.Documents.Insert(ctx, schema, record)
}

// Replace counts a command.
func (c *CommandCounter) Replace(ctx context.Context, schema *storage.Schema, record storage.Record, revision int64) error {
	c.Commands.Add(1)
	return c.Documents.Replace(ctx, schema, record, revision)
}

// Find counts a command.
func (c *CommandCounter) Find(ctx context.Context, schema *storage.Schema, query storage.Query) (storage.Page, error) {
	c.Commands.Add(1)
	return c.Documents.Find(ctx, schema, query)
}

// List counts a command.
func (c *CommandCounter) List(ctx context.Context, schema *storage.Schema, after string, limit, maxBytes int) ([]storage.Record, error) {
	c.Commands.Add(1)
	return c.Documents.List(ctx, schema, after, limit, maxBytes)
}

// Write counts a command.
func (c *CommandCounter) Write(ctx context.Context, writes ...storage.Write) error {
	c.Commands.Add(1)
	return c.Documents.Write(ctx, writes...)
}

// NewStore is a store on the embedded engines.
func NewStore(t *testing.T) (*app.Store, *CommandCounter, *evidencetest.Clock) {
	t.Helper()
	folder := t.TempDir()
	db := pebbletest.Open(t, filepath.Join(folder, "documents"), app.Schemas())
	objects, err := filesystem.Open(filepath.Join(folder, "objects"))
	if err != nil {
		t.Fatal(err)
	}
	docs, hands := &CommandCounter{Documents: db}, evidencetest.NewClock(time.Unix(1_800_000_000, 0))
	store := app.NewStore(docs, objects, hands.Now, slog.New(slog.DiscardHandler))
	t.Cleanup(store.Tenancy.Close)
	return store, docs, hands
}
