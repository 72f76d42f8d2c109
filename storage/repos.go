package storage

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"attestry/evidence"
)

var repoSchema = &Schema{
	Name:   "repos",
	Fields: []string{"org", "name", "created"},
	Indexes: []Index{
		{Name: "created", Fields: []string{"org", "created"}},
		{Name: "name", Fields: []string{"org", "name"}},
	},
}

const (
	// repoCacheAge is for how long a report that tells nothing new is answered
	// without the database. Tags set meanwhile show in what is answered so late.
	repoCacheAge = time.Minute
	// repoCacheSize is how many different reports are remembered.
	repoCacheSize = 10_000
)

// Repos keeps the repositories that reports have named.
type Repos struct {
	collection *Collection[evidence.Repo]
	clock      evidence.Clock
	reported   *cache[evidence.Repo]
}

func newRepos(docs Documents, clock evidence.Clock) *Repos {
	return &Repos{
		clock:    clock,
		reported: newCache[evidence.Repo](repoCacheAge, repoCacheSize),
		collection: NewCollection(docs, repoSchema,
			func(r *evidence.Repo) string { return repoDocument(r.Org, r.ID) },
			func(r *evidence.Repo) map[string]any {
				return map[string]any{"org": r.Org, "name": r.Name, "created": r.CreatedAt}
			}),
	}
}

func repoDocument(org, id string) string { return org + "/" + id }

// Report makes the repository that info tells of, or lets the one that is there
// take info in; at is the time in Unix seconds. Info without name or url makes
// none: then the zero Repo is returned. What was reported by this process in the
// last minute costs no command, and is returned as it was then.
func (r *Repos) Report(ctx context.Context, org string, info evidence.RepoInfo, at float64) (evidence.Repo, error) {
	if !info.Named() {
		return evidence.Repo{}, nil
	}
	key, err := reportKey(org, info)
	if err != nil {
		return evidence.Repo{}, err
	}
	now := r.clock()
	known, version, ok := r.reported.get(key, now)
	if ok {
		return known, nil
	}
	repo, err := upsert(ctx, r.collection, repoDocument(org, info.RepoID(org)),
		func() evidence.Repo { return evidence.NewRepo(org, info, at) },
		func(stored *evidence.Repo) error {
			stored.Apply(info, at)
			return nil
		})
	if err != nil {
		return evidence.Repo{}, err
	}
	r.reported.put(key, repo, now, version)
	return repo, nil
}

// reportKey digests a report, so that what is remembered of it is small.
func reportKey(org string, info evidence.RepoInfo) (string, error) {
	encoded, err := json.Marshal(struct {
		Org  string
		Info evidence.RepoInfo
	}{org, info})
	if err != nil {
		return "", fmt.Errorf("encode the info of a repository: %w", err)
	}
	digest := sha256.Sum256(encoded)
	return string(digest[:]), nil
}

// Get returns the repository of an organization with an id, or ErrNotFound.
func (r *Repos) Get(ctx context.Context, org, id string) (evidence.Repo, error) {
	return r.collection.Get(ctx, repoDocument(org, id))
}

// GetMany returns repositories of an organization by id; unknown ones are left out.
func (r *Repos) GetMany(ctx context.Context, org string, ids []string) (map[string]evidence.Repo, error) {
	documents := make([]string, 0, len(ids))
	for _, id := range ids {
		documents = append(documents, repoDocument(org, id))
	}
	found, err := r.collection.GetMany(ctx, documents)
	if err != nil {
		return nil, err
	}
	repos := make(map[string]evidence.Repo, len(found))
	for _, repo := range found {
		repos[repo.ID] = repo
	}
	return repos, nil
}

// Named returns the repositories of an organization that have a name, the one
// reported last first. There may be several: of different providers, or where one
// took the name that another had.
func (r *Repos) Named(ctx context.Context, org, name string) ([]evidence.Repo, error) {
	repos, err := r.all(ctx, Query{Index: "name", Equal: []any{org, name}, Limit: MaxMany})
	slices.SortStableFunc(repos, func(a, b evidence.Repo) int {
		return cmp.Or(cmp.Compare(b.LastModifiedAt, a.LastModifiedAt), cmp.Compare(b.CreatedAt, a.CreatedAt))
	})
	return repos, err
}

// List returns all repositories of an organization in the order they were made.
func (r *Repos) List(ctx context.Context, org string) ([]evidence.Repo, error) {
	return r.all(ctx, Query{Index: "created", Equal: []any{org}, Limit: MaxMany})
}

func (r *Repos) all(ctx context.Context, query Query) ([]evidence.Repo, error) {
	var repos []evidence.Repo
	err := each(ctx, r.collection, query, func(repo *evidence.Repo) error {
		repos = append(repos, *repo)
		return nil
	})
	return repos, err
}

// SetTags removes and then sets tags of a repository. ErrNotFound tells that the
// organization has none of that id.
func (r *Repos) SetTags(ctx context.Context, org, id string, set map[string]string, remove []string) error {
	_, err := r.collection.Update(ctx, repoDocument(org, id), func(repo *evidence.Repo) error {
		tags, err := evidence.ChangeTags(repo.Tags, set, remove)
		if err != nil {
			return err
		}
		repo.Tags = tags
		return nil
	})
	return err
}
