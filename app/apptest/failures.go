package apptest

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"attestry/app"
	"attestry/storage"
	"attestry/storage/storagetest"
)

// ChangesFail makes changes of an empty store in turn. It repeats them once for each of their commands, which then
// fails. One of the changes must return an error then. There must be at least least commands.
func ChangesFail(t *testing.T, least int, changes ...func(s *app.Store) error) {
	t.Helper()
	var objects storage.Objects
	open := func() storage.Documents {
		f := NewFixture(t)
		objects = f.Objs
		return f.Db
	}
	storagetest.EachFailure(t, least, open, func(docs storage.Documents) error {
		s := app.NewStore(docs, objects, time.Now, slog.New(slog.DiscardHandler))
		defer s.Tenancy.Close()
		for _, change := range changes {
			if err := change(s); err != nil {
				return err
			}
		}
		return nil
	})
}

// ReadsFail makes reads of a store. It repeats them once for each of their commands, which then fails. One of the reads
// must return an error then.
func ReadsFail(t *testing.T, store *app.Store, reads func(s *app.Store) []error) {
	t.Helper()
	open := func() storage.Documents { return store.Documents }
	storagetest.EachFailure(t, 1, open, func(docs storage.Documents) error {
		s := app.NewStore(docs, store.Objects, time.Now, slog.New(slog.DiscardHandler))
		defer s.Tenancy.Close()
		return errors.Join(reads(s)...)
	})
}
