package reports_test

import (
	"context"
	"sync"
	"testing"

	"attestry/app/apptest"
	"attestry/storage"
)

// staleHead is an engine that can return an old head once, as a slow process would see it.
type staleHead struct {
	storage.Documents
	mu     sync.Mutex
	frozen storage.Record
	due    bool
}

func (d *staleHead) freeze(t *testing.T, s *scene) {
	t.Helper()
	record, err := d.Documents.Get(t.Context(), apptest.Schema(t, "heads"), s.env)
	if err != nil {
		t.Fatal(err)
	}
	d.frozen = record
}

func (d *staleHead) show() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.due = true
}

func (d *staleHead) Get(ctx context.Context, schema *storage.Schema, id string) (storage.Record, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.due && schema.Name == "heads" {
		d.due = false
		return d.frozen, nil
	}
	return d.Documents.Get(ctx, schema, id)
}
