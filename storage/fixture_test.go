package storage_test

import (
	"attestry/evidence"
	"attestry/evidence/template"
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/storage/sqlite"
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"
)

// flowScene is a store over embedded engines whose commands can be made to fail.
type flowScene struct {
	*storage.Store
	t    *testing.T
	docs *dyingDocuments
	objs storage.Objects
	db   storage.Documents
}

func newFlowScene(t *testing.T) *flowScene {
	t.Helper()
	folder := t.TempDir()
	db, err := sqlite.Open(t.Context(), filepath.Join(folder, "documents.db"), storage.Schemas())
	if err != nil {
		t.Fatal(err)
	}
	objects, err := filesystem.Open(filepath.Join(folder, "objects"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &flowScene{t: t, db: db, objs: objects}
	s.restart(0, false)
	return s
}

// restart gives the scene a new process, which dies at its n-th write, before or
// after it; 0 means that it lives on.
func (s *flowScene) restart(write int64, after bool) {
	s.docs = &dyingDocuments{Documents: s.db, write: write, after: after}
	s.Store = storage.NewStore(s.docs, s.objs, time.Now, slog.New(slog.NewTextHandler(io.Discard, nil)))
}

func (s *flowScene) put(org, name string) (string, bool, error) {
	created, flow, err := s.Flows.Put(context.Background(), evidence.Flow{
		ID: evidence.NewID(), Org: org, Name: name, Description: "of " + name, Visibility: evidence.PrivateFlow,
		Template: template.ID([]byte(template.Empty)), CreatedAt: 1, CreatedBy: "me", LastModifiedAt: 1,
	})
	return flow.ID, created, err
}

func (s *flowScene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// known are all names that the tests give.
var known = []string{"one", "two", "three"}
