package written_test

import (
	"context"
	"testing"

	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/storagetest"
	"attestry/storage/written"
)

func TestWritesWakeWaitersOfTheirCollection(t *testing.T) {
	events, others := &storage.Schema{Name: "events"}, &storage.Schema{Name: "others"}
	docs := written.Watch(pebbletest.Open(t, t.TempDir(), []*storage.Schema{events, others}))
	wake := docs.Wake(events)
	record := storage.Record{ID: "a", Revision: 1, Body: []byte("{}")}
	next := storage.Record{ID: "a", Revision: 2, Body: []byte("{}")}
	for name, write := range map[string]func(context.Context, *storage.Schema) error{
		"insert": func(ctx context.Context, schema *storage.Schema) error {
			return storagetest.Insert(ctx, docs, schema, record)
		},
		"add": func(ctx context.Context, schema *storage.Schema) error {
			return storagetest.Add(ctx, docs, schema, record)
		},
		"put": func(ctx context.Context, schema *storage.Schema) error {
			return storagetest.Put(ctx, docs, schema, record)
		},
		"replace": func(ctx context.Context, schema *storage.Schema) error {
			if err := storagetest.Put(ctx, docs.Documents, schema, record); err != nil {
				return err
			}
			return storagetest.Replace(ctx, docs, schema, next, 1)
		},
		"write": func(ctx context.Context, schema *storage.Schema) error {
			return docs.Write(ctx, storage.Write{Kind: storage.WritePut, Schema: schema, Record: record})
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, schema := range []*storage.Schema{others, events} {
				evidencetest.Must(t, storagetest.Delete(t.Context(), docs, schema, "a"))
				evidencetest.Must(t, write(t.Context(), schema))
				if woken := len(wake) == 1; woken != (schema == events) {
					t.Errorf("%s: woken is %v", schema.Name, woken)
				}
			}
			<-wake
		})
	}
}
