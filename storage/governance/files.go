package governance

import (
	"bytes"
	"context"
	"errors"
	"strconv"

	"attestry/evidence"
	"attestry/storage"
)

var fileSchema = storage.NewSchema("files", storage.Index{Name: "name", Fields: []string{"org", "kind", "name", "version"}}).With("created_at", "created_by")

// File is a version of a file of an organization, such as a framework. It never changes.
type File struct {
	Org     string `json:"org"` // id
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Version int    `json:"version"` // 1, 2, 3, …
	Content []byte `json:"content"`
	Comment string `json:"comment,omitempty"`
	// CreatedAt is in Unix seconds.
	CreatedAt float64 `json:"created_at"`
	CreatedBy string  `json:"created_by"`
}

func (f *File) id() string { return fileID(f.Org, f.Kind, f.Name, f.Version) }

func fileID(org, kind, name string, version int) string {
	return org + "/" + kind + "/" + name + "/" + strconv.Itoa(version)
}

// Files keeps the files of organizations with all their versions.
type Files struct{ versions storage.Collection[File] }

// NewFiles binds the repository to an engine.
func NewFiles(docs storage.Documents) *Files {
	return &Files{storage.NewCollection(docs, fileSchema, (*File).id, func(f *File) map[string]any {
		return map[string]any{"org": f.Org, "kind": f.Kind, "name": f.Name, "version": int64(f.Version), "created_at": f.CreatedAt, "created_by": f.CreatedBy}
	})}
}

// Put stores the next version of a file, and returns it. Content that is that of the latest version makes none.
func (f *Files) Put(ctx context.Context, file File) (File, error) {
	for range versionAttempts {
		latest, err := f.Latest(ctx, file.Org, file.Kind, file.Name)
		if err != nil && !errors.Is(err, storage.ErrNotFound) || err == nil && bytes.Equal(latest.Content, file.Content) {
			return latest, err
		}
		file.Version = latest.Version + 1
		if err = f.versions.Insert(ctx, file); !errors.Is(err, storage.ErrExists) {
			return file, err
		}
	}
	return File{}, evidence.Errorf(evidence.Conflict, "'%s' is being changed by many requests at once, please try again", file.Name)
}

// Latest returns the latest version of a file, or ErrNotFound.
func (f *Files) Latest(ctx context.Context, org, kind, name string) (File, error) {
	return storage.FindFirst(ctx, f.versions, storage.Query{Index: "name", Equal: []any{org, kind, name}, Descending: true, Limit: 1})
}

// Version returns a version of a file, or ErrNotFound.
func (f *Files) Version(ctx context.Context, org, kind, name string, version int) (File, error) {
	return f.versions.Get(ctx, fileID(org, kind, name, version))
}

// List returns the latest versions of the files of a kind by name, without their content and comment.
func (f *Files) List(ctx context.Context, org, kind string) (latest []File, err error) {
	found, err := storage.FindAllFields(ctx, f.versions, storage.Query{Index: "name", Equal: []any{org, kind}, Limit: storage.Unlimited})
	for i := range found {
		one := File{
			Org: org, Kind: kind, Name: found[i].Text("name"), Version: int(found[i].Integer("version")),
			CreatedAt: found[i].Float("created_at"), CreatedBy: found[i].Text("created_by"),
		}
		if last := len(latest) - 1; last >= 0 && latest[last].Name == one.Name {
			latest[last] = one
		} else {
			latest = append(latest, one)
		}
	}
	return latest, err
}
