package storage_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"attestry/storage"
	"attestry/storage/pebble/pebbletest"
)

type album struct {
	ID       string   `json:"id"`
	Pictures []string `json:"pictures"`
	Parts    []string `json:"parts"`
}

func (a album) ObjectKeys() []string { return a.Pictures }
func (a album) ChunkIDs() []string   { return a.Parts }

// wrapper is a database over another one, which the catalog is looked for in.
type wrapper struct{ storage.Documents }

func (w wrapper) Unwrap() storage.Documents { return w.Documents }

func TestCatalogDecodesDocumentsAsTheirRepository(t *testing.T) {
	albums := &storage.Schema{Name: "albums"}
	opaque := &storage.Schema{Name: "opaque", Opaque: true}
	addressed := &storage.Schema{Name: "addressed", ContentAddressed: true}
	catalog := storage.NewCatalog(pebbletest.Open(t, filepath.Join(t.TempDir(), "db"), []*storage.Schema{albums, opaque, addressed}))
	storage.NewCollection(wrapper{catalog}, albums, func(a *album) string { return a.ID }, nil)

	sum := sha256.Sum256([]byte("{}"))
	for name, c := range map[string]struct {
		schema   *storage.Schema
		id, body string
		damaged  bool
		want     storage.References
	}{
		"with references":       {albums, "a", `{"id":"a","pictures":["p1","","p2"],"parts":["","c1"]}`, false, storage.References{Objects: []string{"p1", "p2"}, Chunks: []string{"c1"}}},
		"of another type":       {albums, "a", `{"id":"a","pictures":7}`, true, storage.References{}},
		"without repository":    {addressed, hex.EncodeToString(sum[:]), "{}", false, storage.References{}},
		"with other content":    {addressed, hex.EncodeToString(sum[:]), "{ }", true, storage.References{}},
		"that are not JSON":     {&storage.Schema{Name: "others"}, "a", "{", true, storage.References{}},
		"that need not be JSON": {opaque, "a", "{", false, storage.References{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := catalog.References(c.schema, storage.Record{ID: c.id, Body: []byte(c.body)})
			if errors.Is(err, storage.ErrDamaged) != c.damaged {
				t.Errorf("got %v", err)
			}
			if !slices.Equal(got.Objects, c.want.Objects) || !slices.Equal(got.Chunks, c.want.Chunks) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestListInMemoryIsASingleBatch(t *testing.T) {
	for name, notes := range map[string][]note{"none": nil, "two": manyNotes(2)} {
		t.Run(name, func(t *testing.T) {
			batches := storage.SingleBatch(notes)
			if batches.More() != (len(notes) > 0) {
				t.Errorf("there are more: %v", batches.More())
			}
			first, err := batches.Next(t.Context(), 1)
			if err != nil || !slices.Equal(first, notes) || batches.More() || batches.After() != "" {
				t.Errorf("got %v, %v, more %v", first, err, batches.More())
			}
			if again, err := batches.Next(t.Context(), 1); err != nil || len(again) > 0 {
				t.Errorf("then %v, %v", again, err)
			}
		})
	}
}
