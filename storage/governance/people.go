package governance

import (
	"context"
	"errors"
	"strconv"

	"attestry/evidence"
	"attestry/storage"
)

var peopleSchema = storage.NewSchema("people", storage.Index{Name: "version", Fields: []string{"org", "version"}})

// PeopleVersion is a version of the file that says which accounts one person has.
type PeopleVersion struct {
	File
	Accounts evidence.Accounts `json:"accounts"`
}

func (p *PeopleVersion) id() string { return peopleID(p.Org, p.Version) }

func peopleID(org string, version int) string { return org + "/" + strconv.Itoa(version) }

// People keeps these files of organizations with all their versions.
type People struct {
	versions storage.Collection[PeopleVersion]
}

// NewPeople binds the repository to an engine.
func NewPeople(docs storage.Documents) *People {
	return &People{storage.NewCollection(docs, peopleSchema, (*PeopleVersion).id, func(p *PeopleVersion) map[string]any {
		return map[string]any{"org": p.Org, "version": int64(p.Version)}
	})}
}

// PutIn adds a version to a batch. Its number must be that which the batch gives to the organization.
func (p *People) PutIn(batch *storage.Batch, version PeopleVersion) { p.versions.PutIn(batch, version) }

// Version returns a version, or ErrNotFound.
func (p *People) Version(ctx context.Context, org string, version int) (PeopleVersion, error) {
	return p.versions.Get(ctx, peopleID(org, version))
}

// Latest returns the latest version, the zero one if there is none.
func (p *People) Latest(ctx context.Context, org string) (PeopleVersion, error) {
	found, err := storage.FindFirst(ctx, p.versions, storage.Query{Index: "version", Equal: []any{org}, Descending: true, Limit: 1})
	if errors.Is(err, storage.ErrNotFound) {
		return PeopleVersion{}, nil
	}
	return found, err
}
