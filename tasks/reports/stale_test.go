package reports_test

import (
	"context"
	"sync"
	"testing"

	"attestry/app"
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
	record, err := d.Documents.Get(t.Context(), schemaNamed(t, "heads"), s.env)
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

func schemaNamed(t *testing.T, name string) *storage.Schema {
	t.Helper()
	for _, schema := range app.Schemas() {
		if schema.Name == name {
			return schema
		}
	}
	t.Fatalf("no collection %s", name)
	return nil
}
