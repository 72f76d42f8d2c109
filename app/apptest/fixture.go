// Package apptest has fixtures for tests: a store over embedded engines with a clock and fault injection, and records.
package apptest

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"attestry/app"
	"attestry/evidence"
	"attestry/evidence/template"
	"attestry/storage"
	"attestry/storage/filesystem"
	"attestry/storage/pebble/pebbletest"
	"attestry/storage/storagetest"
)

// Fixture is a store over embedded engines whose commands can be made to fail.
type Fixture struct {
	*app.Store
	T    *testing.T
	Docs *storagetest.FaultInjector
	Objs storage.Objects
	Db   storage.Documents
}

// NewFixture opens a store on embedded engines in a temporary folder.
func NewFixture(t *testing.T) *Fixture {
	t.Helper()
	folder := t.TempDir()
	db := pebbletest.Open(t, filepath.Join(folder, "documents"), app.Schemas())
	objects, err := filesystem.Open(filepath.Join(folder, "objects"))
	if err != nil {
		t.Fatal(err)
	}
	s := &Fixture{T: t, Db: db, Objs: objects}
	s.Restart(0, false)
	return s
}

// Restart gives the fixture a new process, which dies before or after its n-th write, or never if write is 0.
func (s *Fixture) Restart(write int, after bool) {
	s.Docs = storagetest.NewFaultInjector(s.Db, storagetest.DieAtWrite(write, after))
	s.Store = app.NewStore(s.Docs, s.Objs, time.Now, slog.New(slog.NewTextHandler(io.Discard, nil)))
}

// PutFlow stores a flow, and returns its id and whether it was created.
func (s *Fixture) PutFlow(org, name string) (string, bool, error) {
	created, flow, err := s.Flows.Put(context.Background(), evidence.Flow{
		ID: evidence.NewID(), Org: org, Name: name, Description: "of " + name, Visibility: evidence.PrivateFlow,
		Template: template.ID([]byte(template.Empty)), CreatedAt: 1, CreatedBy: "me", LastModifiedAt: 1,
	})
	return flow.ID, created, err
}

// Must ends the test at an error.
func (s *Fixture) Must(err error) {
	s.T.Helper()
	if err != nil {
		s.T.Fatal(err)
	}
}
