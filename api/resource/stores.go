package resource

import (
	"context"

	"attestry/evidence"
	"attestry/storage/environments"
	"attestry/storage/pipelines"
)

// Stores are what the look-ups read. What does not exist is storage.ErrNotFound.
type Stores struct {
	Environments Environments
	Flows        Flows
	Repos        Repos
	Trails       Trails
}

// Environments keeps what is configured about environments.
type Environments interface {
	// Resolve looks an environment up by its name, or by one that it had and no other
	// environment has taken since: one command. ErrNotFound tells that the name is
	// unknown, ErrArchived that it is that of an archived environment.
	Resolve(ctx context.Context, org, name string) (environments.EnvironmentRef, error)
	// Get returns an environment by id, an archived one too, or ErrNotFound.
	Get(ctx context.Context, id string) (evidence.Environment, error)
	// FollowRevivals lets logical environments include, instead of members that were
	// archived, the physical environments that live under their names by now, and sets
	// their active members. It changes what is given, not what is stored: one command, and
	// one more where a member is archived.
	FollowRevivals(ctx context.Context, org string, logical []evidence.Environment) error
}

// Flows keeps flows.
type Flows interface {
	// Resolve looks a flow up by its name, or by one that it had and no other flow has
	// taken since: one command. ErrNotFound tells that the name is unknown or that of
	// an archived flow.
	Resolve(ctx context.Context, org, name string) (pipelines.FlowRef, error)
}

// Repos keeps source code repositories.
type Repos interface {
	// Report makes the repository that info tells of, or lets the one that is there
	// take info in; at is the time in Unix seconds. Info without a provider joins the
	// repository of its external id and host, and a repository whose provider is not known
	// gets that of the first info that names one. Info without name or url makes
	// none: then the zero Repo is returned. What was reported by this process in the
	// last minute costs no command, and is returned as it was then.
	Report(ctx context.Context, org string, info evidence.RepoInfo, at float64) (evidence.Repo, error)
	// Get returns the repository of an organization with an id, or ErrNotFound.
	Get(ctx context.Context, org, id string) (evidence.Repo, error)
	// Named returns the repositories of an organization that have a name, in no order.
	// There may be several: of different providers, or where one took the name that
	// another had.
	Named(ctx context.Context, org, name string) ([]evidence.Repo, error)
}

// Trails reads trails.
type Trails interface {
	// Get returns the trail of that name in a flow, or ErrNotFound.
	Get(ctx context.Context, flow, name string) (evidence.Trail, error)
}
