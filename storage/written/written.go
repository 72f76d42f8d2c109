// Package written notifies goroutines that wait for documents when this process has written some.
package written

import (
	"context"
	"sync"

	"attestry/storage"
)

// Documents wraps the documents of an engine. After each command that may have stored documents of a collection, it
// wakes the goroutines that wait for it.
type Documents struct {
	storage.Documents

	mu    sync.RWMutex
	wakes map[string][]chan struct{} // by the name of the collection
}

// Watch wraps the documents of an engine.
func Watch(docs storage.Documents) *Documents {
	return &Documents{Documents: docs, wakes: map[string][]chan struct{}{}}
}

// Wake returns a channel that gets a value, at most one unread, when documents of collections may have been stored.
func (d *Documents) Wake(collections ...*storage.Schema) <-chan struct{} {
	wake := make(chan struct{}, 1)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, schema := range collections {
		d.wakes[schema.Name] = append(d.wakes[schema.Name], wake)
	}
	return wake
}

func (d *Documents) notify(schema *storage.Schema) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, wake := range d.wakes[schema.Name] {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// Write implements storage.Documents.
func (d *Documents) Write(ctx context.Context, writes ...storage.Write) error {
	err := d.Documents.Write(ctx, writes...)
	for i := range writes {
		if kind := writes[i].Kind; kind != storage.WriteDelete && kind != storage.WriteCheck {
			d.notify(writes[i].Schema)
		}
	}
	return err
}
