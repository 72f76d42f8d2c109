package pipelines

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"attestry/evidence"
	"attestry/storage"
	"attestry/storage/cache"
)

var repoSchema = storage.NewSchema("repos",
	storage.Index{Name: "created", Fields: []string{"org", "created"}},
	storage.Index{Name: "name", Fields: []string{"org", "name"}},
)

const (
	// repoCacheAge is how long a report is cached: equal ones take no command, and do not see tags set meanwhile.
	repoCacheAge = time.Minute
	// repoCacheSize is of how many repositories the last report is remembered.
	repoCacheSize = 10_000
)

// Repos keeps the repositories that reports have named.
type Repos struct {
	collection storage.Collection[evidence.Repo]
	clock      evidence.Clock
	reported   cache.TTL[reportedRepo]
}

// reportedRepo is the last report of a repository, as its key, and the repository as it was then.
type reportedRepo struct {
	key  string
	repo evidence.Repo
}

// NewRepos binds the repository to an engine.
func NewRepos(docs storage.Documents, clock evidence.Clock) *Repos {
	return &Repos{
		clock:    clock,
		reported: cache.NewTTL[reportedRepo](repoCacheAge, repoCacheSize),
		collection: storage.NewCollection(docs, repoSchema,
			func(r *evidence.Repo) string { return idIn(r.Org, r.ID) },
			func(r *evidence.Repo) map[string]any {
				return map[string]any{"org": r.Org, "name": r.Name, "created": r.CreatedAt}
			}),
	}
}

// Report makes the repository of info, or updates it with info; at is the time in Unix seconds. Info without a provider
// joins the repository of its external id and host, and a repository without a provider gets the first one that is
// named. Info without name or url makes none: then the zero Repo is returned. A report that equals the
// repository's last one, which this process had in the last minute, takes no command and returns what that one did.
func (r *Repos) Report(ctx context.Context, org string, info evidence.RepoInfo, at float64) (evidence.Repo, error) {
	if !info.Named() {
		return evidence.Repo{}, nil
	}
	key, err := reportKey(org, info)
	if err != nil {
		return evidence.Repo{}, err
	}
	id, now := info.RepoID(org, 0), r.clock()
	last, version, ok := r.reported.Get(id, now)
	if ok && last.key == key {
		return last.repo, nil
	}
	repo, err := r.record(ctx, org, info, at)
	if err == nil {
		r.reported.Put(id, reportedRepo{key, repo}, now, version)
	}
	return repo, err
}

// record updates the repository that info is about, or makes it. It reads those with the external id one after the
// other, by ordinal; there are several only if several providers or hosts use that id. A new one gets the first free
// ordinal. Concurrent reports about one repository compete for it, so only one is made, even if some name no provider.
func (r *Repos) record(ctx context.Context, org string, info evidence.RepoInfo, at float64) (evidence.Repo, error) {
	adoptable := "" // id of the first document that may be adopted
	for ordinal := 0; ; {
		id := idIn(org, info.RepoID(org, ordinal))
		repo, match, err := r.update(ctx, id, info, at, false)
		switch {
		case errors.Is(err, storage.ErrNotFound) && adoptable != "":
			repo, match, err = r.update(ctx, adoptable, info, at, true)
			if err != nil || match != evidence.OtherRepo {
				return repo, err
			}
			adoptable = "" // a report with another provider was first
		case errors.Is(err, storage.ErrNotFound):
			repo = evidence.NewRepo(org, info, ordinal, at)
			if err = r.collection.Insert(ctx, repo); !errors.Is(err, storage.ErrExists) {
				return repo, err
			}
		case err != nil || match == evidence.SameRepo:
			return repo, err
		default:
			if ordinal++; match == evidence.AdoptableRepo {
				adoptable = cmp.Or(adoptable, id)
			}
		}
	}
}

// update applies info to a repository that it is about. To an adoptable one it applies info only if adopt is set.
func (r *Repos) update(ctx context.Context, id string, info evidence.RepoInfo, at float64, adopt bool) (evidence.Repo, evidence.RepoMatch, error) {
	var match evidence.RepoMatch
	repo, err := r.collection.Update(ctx, id, storage.WithoutError(func(stored *evidence.Repo) {
		if match = stored.Match(info); match == evidence.SameRepo || match == evidence.AdoptableRepo && adopt {
			stored.Apply(info, at)
		}
	}))
	if err != nil {
		return repo, evidence.OtherRepo, err // the function may still run and set match
	}
	return repo, match, nil
}

// reportKey is the digest of a report, so that the cache is small.
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
	return r.collection.Get(ctx, idIn(org, id))
}

// GetMany returns repositories of an organization by id; unknown ones are left out.
func (r *Repos) GetMany(ctx context.Context, org string, ids []string) (map[string]evidence.Repo, error) {
	found, err := r.collection.GetMany(ctx, evidence.Map(ids, func(id string) string { return idIn(org, id) }))
	return evidence.ByKey(found, func(repo *evidence.Repo) string { return repo.ID }), err
}

// Named returns the repositories of an organization with a name, in no order. There may be several: of different
// providers, or where one took the name of another.
func (r *Repos) Named(ctx context.Context, org, name string) ([]evidence.Repo, error) {
	return storage.FindAll(ctx, r.collection, storage.Query{Index: "name", Equal: []any{org, name}, Limit: storage.Unlimited})
}

// List returns all repositories of an organization in the order they were made.
func (r *Repos) List(ctx context.Context, org string) ([]evidence.Repo, error) {
	return storage.FindAll(ctx, r.collection, storage.Query{Index: "created", Equal: []any{org}, Limit: storage.Unlimited})
}

// SetTags removes and then sets tags of a repository, or returns ErrNotFound.
func (r *Repos) SetTags(ctx context.Context, org, id string, set map[string]string, remove []string) error {
	_, err := r.collection.Update(ctx, idIn(org, id), func(repo *evidence.Repo) (err error) {
		repo.Tags, err = evidence.ChangeTags(repo.Tags, set, remove)
		return err
	})
	return err
}
