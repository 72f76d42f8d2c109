package governance

import (
	"context"
	"strconv"

	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/cache"
)

var peopleSchema = storage.NewSchema("people", storage.Index{Name: "version", Fields: []string{"org", "version"}})

// PeopleVersion is a version of the file that says which accounts belong to one person.
type PeopleVersion struct {
	File
	Accounts evidence.Accounts `json:"accounts"`
}

func (p *PeopleVersion) id() string { return peopleID(p.Org, p.Version) }

func peopleID(org string, version int) string { return org + "/" + strconv.Itoa(version) }

// People keeps these files of organizations with all their versions.
type People struct {
	versions storage.Collection[PeopleVersion]
	accounts cache.LRU[evidence.Accounts] // of 4 MiB of files, by the ids of versions
}

// NewPeople binds the repository to an engine.
func NewPeople(docs storage.Documents) *People {
	return &People{storage.NewCollection(docs, peopleSchema, (*PeopleVersion).id, func(p *PeopleVersion) map[string]any {
		return map[string]any{"org": p.Org, "version": int64(p.Version)}
	}), cache.NewLRU[evidence.Accounts](4 << 20)}
}

// PutIn adds a version to a batch, which must set the same number in the organization.
func (p *People) PutIn(batch *storage.Batch, version PeopleVersion) { p.versions.PutIn(batch, version) }

// Version returns a version, or ErrNotFound. 0 means the latest; without any version, that is a zero one.
func (p *People) Version(ctx context.Context, org string, version int) (PeopleVersion, error) {
	if version == 0 {
		found, err := storage.FindFirst(ctx, p.versions, latestPeople(org))
		return found, storage.IgnoreMissing(err)
	}
	return p.versions.Get(ctx, peopleID(org, version))
}

// Accounts returns those of the latest version: a command, and one more if it is not cached. They must not be changed.
func (p *People) Accounts(ctx context.Context, org string) (evidence.Accounts, error) {
	found, _, err := p.versions.FindFields(ctx, latestPeople(org))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if accounts, ok := p.accounts.Get(found[0].ID); ok {
		return accounts, nil
	}
	latest, err := p.versions.Get(ctx, found[0].ID)
	if err == nil {
		p.accounts.Put(found[0].ID, latest.Accounts, len(latest.Content))
	}
	return latest.Accounts, err
}

func latestPeople(org string) storage.Query {
	return storage.Query{Index: "version", Equal: []any{org}, Descending: true, Limit: 1}
}
