package tenancy_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"attestry/storage"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/storagetest"
	"attestry/storage/tenancy"
)

// tenancyDocuments is an engine that counts commands and can fail or block them. Its batches are not atomic: their
// writes are done one by one.
type tenancyDocuments struct {
	storage.Documents

	mu       sync.Mutex
	commands int
	replaces int // successful replacements that were the only write of their command
	// before, when set, is called before every command; an error replaces the command.
	before func(command, collection, id string) error
	// after, when set, is called after every Get.
	after func(collection, id string)
}

func newTenancyDocuments(t *testing.T) *tenancyDocuments {
	t.Helper()
	return &tenancyDocuments{Documents: pebbletest.Open(t, filepath.Join(t.TempDir(), "documents"), tenancy.Schemas())}
}

func (d *tenancyDocuments) begin(ctx context.Context, command, collection, id string) error {
	d.mu.Lock()
	d.commands++
	before := d.before
	d.mu.Unlock()
	if before != nil {
		if err := before(command, collection, id); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (d *tenancyDocuments) Get(ctx context.Context, schema *storage.Schema, id string) (storage.Record, error) {
	if err := d.begin(ctx, "get", schema.Name, id); err != nil {
		return storage.Record{}, err
	}
	record, err := d.Documents.Get(ctx, schema, id)
	d.mu.Lock()
	after := d.after
	d.mu.Unlock()
	if after != nil {
		after(schema.Name, id)
	}
	return record, err
}

func (d *tenancyDocuments) Find(ctx context.Context, schema *storage.Schema, query storage.Query) (storage.Page, error) {
	if err := d.begin(ctx, "find", schema.Name, query.After); err != nil {
		return storage.Page{}, err
	}
	return d.Documents.Find(ctx, schema, query)
}

var writeKinds = map[storage.WriteKind]string{
	storage.WriteInsert: "insert", storage.WriteReplace: "replace", storage.WritePut: "put", storage.WriteDelete: "delete",
}

func (d *tenancyDocuments) Write(ctx context.Context, writes ...storage.Write) error {
	return storagetest.WriteOneByOne(writes, func(write storage.Write) error {
		if err := d.begin(ctx, writeKinds[write.Kind], write.Schema.Name, write.Record.ID); err != nil {
			return err
		}
		err := d.Documents.Write(ctx, write)
		if err == nil && len(writes) == 1 && write.Kind == storage.WriteReplace {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.replaces++
		}
		return err
	})
}

func (d *tenancyDocuments) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.commands
}

func (d *tenancyDocuments) writes() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.replaces
}

func (d *tenancyDocuments) hook(before func(command, collection, id string) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before = before
}

// size returns the number of documents of a collection.
func (d *tenancyDocuments) size(collection string) int {
	size := 0
	for range d.all(collection) {
		size++
	}
	return size
}

func (d *tenancyDocuments) bodies() string {
	var all []byte
	for _, record := range d.all("") {
		all = append(append(all, record.ID...), record.Body...)
	}
	return string(all)
}

// stored returns every document as text, by collection and id.
func (d *tenancyDocuments) stored() map[string]string {
	all := map[string]string{}
	for key, record := range d.all("") {
		all[key] = fmt.Sprint(record.Revision, record.Fields, string(record.Body))
	}
	return all
}

// all returns every document of a collection, or of all collections if it is "", by collection and id.
func (d *tenancyDocuments) all(collection string) map[string]storage.Record {
	found := map[string]storage.Record{}
	for _, schema := range tenancy.Schemas() {
		if collection != "" && schema.Name != collection {
			continue
		}
		records, err := d.List(context.Background(), schema, "", storage.MaxMany, 1<<30)
		if err != nil || len(records) == storage.MaxMany {
			panic(fmt.Sprint("list of ", schema.Name, ": ", len(records), " documents, ", err))
		}
		for _, record := range records {
			found[schema.Name+"/"+record.ID] = record
		}
	}
	return found
}
