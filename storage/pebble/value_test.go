package pebble

import (
	"bytes"
	"testing"

	"attestry/storage"
	"attestry/storage/pebble/ordered"
)

func TestFieldsInValuesAreOrderedAsValues(t *testing.T) {
	schema := &storage.Schema{Name: "things", Fields: []string{"value"}, Indexes: []storage.Index{{Name: "value", Fields: []string{"value"}}}}
	c := newCollection(schema)
	for _, value := range []any{nil, false, true, "", "a\x01", "🚀", int64(0), int64(-1 << 63), int64(1<<53 + 1), 0.5, -1e300} {
		record := storage.Record{ID: "id", Revision: 7, Fields: map[string]any{"value": value}}
		h := head(appendHead(nil, schema, &record))
		entries := c.entriesOf(record.Fields, []byte("id"))
		want := append(ordered.Append(c.indexes[0].space[:], value), "id"...)
		if !bytes.Equal(entries[0], want) {
			t.Errorf("the entry of %v is %x, want %x", value, entries[0], want)
		}
		fields, err := h.fields()
		if err != nil || fields["value"] != value {
			t.Errorf("%v comes back as %v: %v", value, fields["value"], err)
		}
	}
}
