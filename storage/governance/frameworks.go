package governance

import (
	"bytes"
	"context"
	"errors"

	"attestry/evidence"
	"attestry/evidence/framework"
	"attestry/storage"
)

var frameworkSchema = storage.NewSchema("frameworks", storage.Index{Name: "name", Fields: []string{"org", "name", "version"}}).With("created_at", "created_by")

// File is a version of a file of an organization. It never changes.
type File struct {
	Org string `json:"org"` // id
	// Name is that of a framework, "" of a file that an organization has once.
	Name    string `json:"name,omitempty"`
	Version int    `json:"version"` // 1, 2, 3, …
	Content []byte `json:"content"`
	Comment string `json:"comment,omitempty"`
	// CreatedAt is in Unix seconds.
	CreatedAt float64 `json:"created_at"`
	CreatedBy string  `json:"created_by"`
}

// Framework is a version of a framework of an organization.
type Framework struct{ File }

func (f *Framework) id() string { return versionID(f.Org, f.Name, f.Version) }

// Parse parses the content. An error is Damaged, as it was checked when it was stored.
func (f *Framework) Parse() (framework.Framework, error) {
	parsed, err := framework.Parse(f.Content)
	if err != nil {
		err = storage.Damaged("The framework '"+f.Name+"' is damaged", err)
	}
	return parsed, err
}

// Frameworks keeps the frameworks of organizations with all their versions.
type Frameworks struct{ versions storage.Collection[Framework] }

// NewFrameworks binds the repository to an engine.
func NewFrameworks(docs storage.Documents) *Frameworks {
	return &Frameworks{storage.NewCollection(docs, frameworkSchema, (*Framework).id, func(f *Framework) map[string]any {
		return map[string]any{"org": f.Org, "name": f.Name, "version": int64(f.Version), "created_at": f.CreatedAt, "created_by": f.CreatedBy}
	})}
}

// Put stores the next version of a framework and returns it, or the latest version if that has the same content.
func (f *Frameworks) Put(ctx context.Context, fresh Framework) (Framework, error) {
	for range versionAttempts {
		latest, err := f.Latest(ctx, fresh.Org, fresh.Name)
		if err != nil && !errors.Is(err, storage.ErrNotFound) || err == nil && bytes.Equal(latest.Content, fresh.Content) {
			return latest, err
		}
		fresh.Version = latest.Version + 1
		if err = f.versions.Insert(ctx, fresh); !errors.Is(err, storage.ErrExists) {
			return fresh, err
		}
	}
	return Framework{}, evidence.Errorf(evidence.Conflict, "'%s' is being changed by many requests at once, please try again", fresh.Name)
}

// Latest returns the latest version of a framework, or ErrNotFound.
func (f *Frameworks) Latest(ctx context.Context, org, name string) (Framework, error) {
	return storage.FindFirst(ctx, f.versions, storage.Query{Index: "name", Equal: []any{org, name}, Descending: true, Limit: 1})
}

// Version returns a version of a framework, or ErrNotFound.
func (f *Frameworks) Version(ctx context.Context, org, name string, version int) (Framework, error) {
	return f.versions.Get(ctx, versionID(org, name, version))
}

// List returns the latest versions of the frameworks of an organization by name, without their content and comment.
func (f *Frameworks) List(ctx context.Context, org string) (latest []Framework, err error) {
	found, err := storage.FindAllFields(ctx, f.versions, storage.Query{Index: "name", Equal: []any{org}, Limit: storage.Unlimited})
	for i := range found {
		one := Framework{File{
			Org: org, Name: found[i].Text("name"), Version: int(found[i].Integer("version")),
			CreatedAt: found[i].Float("created_at"), CreatedBy: found[i].Text("created_by"),
		}}
		if last := len(latest) - 1; last >= 0 && latest[last].Name == one.Name {
			latest[last] = one
		} else {
			latest = append(latest, one)
		}
	}
	return latest, err
}
