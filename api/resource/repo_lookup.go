package resource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"attestry/api/server"
	"attestry/evidence"
	"attestry/storage"
)

// LoadRepoOf returns the repository that a request names, by its id if it has one.
func (b *Base) LoadRepoOf(ctx context.Context, org evidence.OrgAccess, in *GetRepoInput) (evidence.Repo, error) {
	if in.ID != "" {
		return b.LoadRepoByID(ctx, org, in.ID)
	}
	return b.LoadRepo(ctx, org, in.Name, in.Provider)
}

// LoadRepoByID returns the repository of an internal id, or an evidence.NotFound error.
func (b *Base) LoadRepoByID(ctx context.Context, org evidence.OrgAccess, id string) (evidence.Repo, error) {
	repo, err := b.Repos.Get(ctx, org.OrgID, id)
	if errors.Is(err, storage.ErrNotFound) {
		err = RepoNotFound(id)
	}
	return repo, err
}

// LoadRepo returns the repository of a name: one command.
func (b *Base) LoadRepo(ctx context.Context, org evidence.OrgAccess, name, provider string) (evidence.Repo, error) {
	repos, err := b.Repos.Named(ctx, org.OrgID, name)
	if err != nil {
		return evidence.Repo{}, err
	}
	return PickRepo(repos, name, provider)
}

// PickRepo picks, from all repositories of a name, the one that a client means. If
// there are several it has to say the provider; of several at that provider the newest
// one has the name now. An empty provider means any.
func PickRepo(repos []evidence.Repo, name, provider string) (evidence.Repo, error) {
	if provider != "" {
		repos = slices.DeleteFunc(repos, func(r evidence.Repo) bool { return r.Provider != provider })
	}
	if len(repos) == 0 {
		return evidence.Repo{}, RepoNotFound(name)
	}
	if provider == "" && len(repos) > 1 {
		providers := map[string]bool{}
		for i := range repos {
			providers[shownProvider(&repos[i])] = true
		}
		return evidence.Repo{}, evidence.NewError(evidence.Invalid, fmt.Sprintf(
			"Multiple repos named '%s' exist (%s). Specify the 'provider'", name, strings.Join(slices.Sorted(maps.Keys(providers)), ", ")))
	}
	return slices.MaxFunc(repos, func(a, b evidence.Repo) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
	}), nil
}

// RepoNotFound is the answer for a repository that does not exist.
func RepoNotFound(name string) error {
	return evidence.NewError(evidence.NotFound, fmt.Sprintf("Repo '%s' not found", name))
}

// RepoProviderQuery goes with a filter by the name of a repository. It is exported
// because huma passes over embedded types that are not.
type RepoProviderQuery struct {
	Provider string `query:"provider" enum:"github,gitlab,bitbucket,bitbucket_cloud,bitbucket_dc,azure-devops,azure_devops_services,azure_devops_server,circleci,git,subversion" doc:"Provider of the repository. Needed when several have the name."`
}

// GetRepoInput names a repository by its name or its internal id.
type GetRepoInput struct {
	server.OrgPath
	Name string `path:"repo_name" doc:"Name of the repository; it may have slashes."`
	RepoProviderQuery
	ID string `query:"id" doc:"The internal id. With it, name and provider are ignored."`
}

func shownProvider(r *evidence.Repo) string { return cmp.Or(r.Provider, "unknown") }
