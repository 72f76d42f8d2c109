package pebble

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"attestry/evidence/evidencetest"
	"attestry/storage"
	"attestry/storage/storagetest"
)

// TestOffsetDoesNotLoadSkippedDocuments deletes the documents that the offset skips after the first cursor,
// except for the ends of pages, but not their index entries. Loading one would fail.
func TestOffsetDoesNotLoadSkippedDocuments(t *testing.T) {
	schema := &storage.Schema{Name: "many", Fields: []string{"org"}, Indexes: []storage.Index{{Name: "org", Fields: []string{"org"}}}}
	db := openOn(t, t.TempDir(), nil, schema)
	id := func(n int) string { return fmt.Sprintf("%05d", n) }
	offset := 2 * storage.MaxScan
	for first := 0; first <= offset; first += storage.MaxMany {
		var records []storage.Record
		for n := range storage.MaxMany {
			records = append(records, storage.Record{ID: id(first + n), Revision: 1, Fields: map[string]any{"org": "o"}, Body: []byte("{}")})
		}
		err := storagetest.Add(t.Context(), db, schema, records...)
		evidencetest.Must(t, err)
	}
	c := db.collections[schema.Name]
	evidencetest.Must(t, db.engine.DeleteRange(c.records.key(id(storage.MaxScan+1)), c.records.key(id(offset-1)), pebble.Sync))
	db.views.publish()
	query := storage.Query{Index: "org", Equal: []any{"o"}, Offset: offset, Limit: 1}
	for range 5 {
		page, err := db.Find(t.Context(), schema, query)
		evidencetest.Must(t, err)
		if len(page.Records) == 1 {
			if page.Records[0].ID != id(offset) {
				t.Errorf("found %s", page.Records[0].ID)
			}
			return
		}
		query.Offset, query.After = 0, page.Next
	}
	t.Error("nothing was found")
}
