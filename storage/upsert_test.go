package storage_test

import (
	"errors"
	"path/filepath"
	"testing"

	"attestry/storage"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/storagetest"
)

func TestUpsertAndEnsureUseOrMakeADocument(t *testing.T) {
	type notes = storage.Collection[note]
	errRefused := errors.New("refused")
	fresh, known := note{ID: "a", Topic: "fresh", Rank: 1}, note{ID: "a", Topic: "known", Rank: 5}
	upsert := func(in notes) (note, error) {
		return storage.Upsert(t.Context(), in, fresh, func(n *note) error { n.Rank++; return nil })
	}
	refuse := func(in notes) (note, error) {
		return storage.Upsert(t.Context(), in, fresh, func(*note) error { return errRefused })
	}
	ensure := func(in notes) (note, error) { return storage.Ensure(t.Context(), in, fresh) }
	for name, c := range map[string]struct {
		run func(notes) (note, error)
		// other is the command before which another process stores the document, 0 if it does not.
		other int
		want  note // the stored one, also returned unless there is an error
		err   error
	}{
		"upsert of a missing document":         {upsert, 0, note{ID: "a", Topic: "fresh", Rank: 2}, nil},
		"upsert of a known document":           {upsert, 1, note{ID: "a", Topic: "known", Rank: 6}, nil},
		"upsert of a document made meanwhile":  {upsert, 2, note{ID: "a", Topic: "known", Rank: 6}, nil},
		"refused upsert of a missing document": {refuse, 0, note{}, errRefused},
		"refused upsert of a known document":   {refuse, 1, known, errRefused},
		"ensuring a missing document":          {ensure, 0, fresh, nil},
		"ensuring a known document":            {ensure, 1, known, nil},
		"ensuring a document made meanwhile":   {ensure, 2, known, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var stored notes
			open := func() storage.Documents {
				db := pebbletest.Open(t, filepath.Join(t.TempDir(), "notes"), []*storage.Schema{noteSchema()})
				stored = notesIn(db, noteSchema())
				return storagetest.NewFaultInjector(db, storagetest.Fault{At: c.other, Before: func() {
					if err := stored.Insert(t.Context(), known); err != nil {
						t.Error(err)
					}
				}})
			}
			got, err := c.run(notesIn(open(), noteSchema()))
			left, readErr := stored.Get(t.Context(), "a")
			if !errors.Is(err, c.err) || err == nil && got != c.want || left != c.want || storage.IgnoreMissing(readErr) != nil {
				t.Errorf("returned %+v, %v; stored %+v, %v", got, err, left, readErr)
			}
			storagetest.EachFailure(t, 1, open, func(docs storage.Documents) error {
				_, err := c.run(notesIn(docs, noteSchema()))
				if c.err != nil && errors.Is(err, c.err) {
					return nil
				}
				return err
			})
		})
	}
}
