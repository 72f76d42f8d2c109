package reports_test

import (
	"context"
	"testing"

	"attestry/storage"
)

// spoiled is an engine that returns one document of a collection damaged.
type spoiled struct {
	storage.Documents
	collection, id string
}

func (s *spoiled) spoil(schema *storage.Schema, records []storage.Record) {
	for i := range records {
		if schema.Name == s.collection && records[i].ID == s.id && records[i].Body != nil {
			records[i].Body = []byte("{")
		}
	}
}

func (s *spoiled) Get(ctx context.Context, schema *storage.Schema, id string) (storage.Record, error) {
	record, err := s.Documents.Get(ctx, schema, id)
	one := []storage.Record{record}
	s.spoil(schema, one)
	return one[0], err
}

func (s *spoiled) GetMany(ctx context.Context, schema *storage.Schema, ids []string) ([]storage.Record, error) {
	records, err := s.Documents.GetMany(ctx, schema, ids)
	s.spoil(schema, records)
	return records, err
}

func (s *spoiled) Find(ctx context.Context, schema *storage.Schema, query storage.Query) (storage.Page, error) {
	page, err := s.Documents.Find(ctx, schema, query)
	s.spoil(schema, page.Records)
	return page, err
}

// spoiling returns the scene in another process, for which one document is damaged.
func (s *scene) spoiling(t testing.TB, collection, id string) *scene {
	t.Helper()
	return s.another(t, func(docs storage.Documents) storage.Documents {
		return &spoiled{Documents: docs, collection: collection, id: id}
	})
}
