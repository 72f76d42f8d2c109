package tenancy_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"attestry/storage"
)

// tenancyDocuments is an engine in memory for what Tenancy asks. It counts the
// commands and can fail or halt them.
type tenancyDocuments struct {
	storage.Documents // whatever Tenancy must not use panics

	mu       sync.Mutex
	records  map[string]map[string]storage.Record
	commands int
	replaces int
	// before, when set, runs ahead of every command; its error is the answer.
	before func(command, collection, id string) error
	// after, when set, runs behind every Get.
	after func(collection, id string)
}

func newTenancyDocuments() *tenancyDocuments {
	return &tenancyDocuments{records: map[string]map[string]storage.Record{}}
}

func (d *tenancyDocuments) begin(ctx context.Context, command, collection, id string) error {
	d.mu.Lock()
	d.commands++
	before := d.before
	if d.records[collection] == nil {
		d.records[collection] = map[string]storage.Record{}
	}
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
	d.mu.Lock()
	record, ok := d.records[schema.Name][id]
	after := d.after
	d.mu.Unlock()
	if after != nil {
		after(schema.Name, id)
	}
	if !ok {
		return storage.Record{}, storage.ErrNotFound
	}
	return record, nil
}

func (d *tenancyDocuments) Insert(ctx context.Context, schema *storage.Schema, record storage.Record) error {
	if err := d.begin(ctx, "insert", schema.Name, record.ID); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, taken := d.records[schema.Name][record.ID]; taken {
		return storage.ErrExists
	}
	d.records[schema.Name][record.ID] = record
	return nil
}

func (d *tenancyDocuments) Replace(ctx context.Context, schema *storage.Schema, record storage.Record, revision int64) error {
	if err := d.begin(ctx, "replace", schema.Name, record.ID); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if stored, ok := d.records[schema.Name][record.ID]; !ok || stored.Revision != revision {
		return storage.ErrMoved
	}
	d.replaces++
	d.records[schema.Name][record.ID] = record
	return nil
}

func (d *tenancyDocuments) Delete(ctx context.Context, schema *storage.Schema, ids ...string) error {
	if err := d.begin(ctx, "delete", schema.Name, ids[0]); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		delete(d.records[schema.Name], id)
	}
	return nil
}

// Find pages through an index one entry at a time, so that a caller who stops at
// the first page shows.
func (d *tenancyDocuments) Find(ctx context.Context, schema *storage.Schema, query storage.Query) (storage.Page, error) {
	if err := d.begin(ctx, "find", schema.Name, query.After); err != nil {
		return storage.Page{}, err
	}
	index, ok := schema.IndexNamed(query.Index)
	if !ok {
		return storage.Page{}, errors.New("no such index")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var ids []string
	for id, record := range d.records[schema.Name] {
		if id > query.After && record.Fields[index.Fields[0]] == query.Equal[0] {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	if len(ids) == 0 {
		return storage.Page{}, nil
	}
	page := storage.Page{Records: []storage.Record{d.records[schema.Name][ids[0]]}}
	if len(ids) > 1 {
		page.Next = ids[0]
	}
	return page, nil
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

func (d *tenancyDocuments) size(collection string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.records[collection])
}

func (d *tenancyDocuments) hook(before func(command, collection, id string) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before = before
}

func (d *tenancyDocuments) bodies() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []byte
	for _, records := range d.records {
		for id, record := range records {
			all = append(append(all, id...), record.Body...)
		}
	}
	return string(all)
}

// stored is every document by collection and id.
func (d *tenancyDocuments) stored() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[string]string{}
	for collection, records := range d.records {
		for id, record := range records {
			all[collection+"/"+id] = fmt.Sprint(record.Revision, record.Fields, string(record.Body))
		}
	}
	return all
}
