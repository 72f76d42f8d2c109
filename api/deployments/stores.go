package deployments

import (
	"context"

	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/storage/environments"
	"attestry/storage/pipelines"
)

// Stores are what the operations read and write. What does not exist is storage.ErrNotFound.
type Stores struct {
	Deployments  Deployments
	Environments Environments
	Events       Events
	Flows        Flows
	Heads        Heads
	Provenances  Provenances
	Repos        Repos
	Running      Running
	Successions  Successions
}

// Deployments reads deployments.
type Deployments interface {
	// List returns a page of deployments.
	List(ctx context.Context, q environments.DeploymentQuery) ([]snapshot.Deployment, error)
	// Count returns how many deployments there are, at most MaxCount. It is one command,
	// or one for each repository where several meet several environments.
	Count(ctx context.Context, q environments.DeploymentQuery) (int64, error)
	// Moments returns when deployments were made, newest first, at most q.Limit: one
	// command for each MaxMany.
	Moments(ctx context.Context, q environments.DeploymentQuery) ([]environments.DeploymentMoment, error)
	// Latest returns the last deployment of a fingerprint in any of the environments, or
	// ErrNotFound.
	Latest(ctx context.Context, environments []string, fingerprint string) (snapshot.Deployment, error)
}

// Environments keeps what is configured about environments.
type Environments interface {
	// ResolveMany is Resolve for several names: one command for all of them. Unknown
	// names, and those of archived environments, are not in the answer.
	ResolveMany(ctx context.Context, org string, wanted []string) (map[string]environments.EnvironmentRef, error)
	// GetMany returns environments by id, archived ones too, in the order of ids.
	GetMany(ctx context.Context, ids []string) ([]evidence.Environment, error)
	// Names returns an organization's environments by id, archived ones too, for the
	// names and links of what was recorded in them.
	Names(ctx context.Context, org string, ids []string) (map[string]evidence.Environment, error)
	// FollowRevivals lets logical environments include, instead of members that were
	// archived, the physical environments that live under their names by now, and sets
	// their active members. It changes what is given, not what is stored: one command, and
	// one more where a member is archived.
	FollowRevivals(ctx context.Context, org string, environments []evidence.Environment) error
}

// Events reads the event log of environments.
type Events interface {
	// OfArtifacts returns what happened to fingerprints in the environments of an
	// organization, newest first.
	OfArtifacts(ctx context.Context, org string, fingerprints []string) ([]snapshot.Event, error)
}

// Flows keeps flows.
type Flows interface {
	// Names returns an organization's flows by id, archived ones too, for the names and
	// links of what was recorded in them.
	Names(ctx context.Context, org string, ids []string) (map[string]evidence.Flow, error)
}

// Heads reads the heads of environments.
type Heads interface {
	// GetMany returns the heads of environments, by id.
	GetMany(ctx context.Context, environments []string) (map[string]snapshot.Head, error)
}

// Provenances tells where artifacts come from.
type Provenances interface {
	// GetMany returns what is known of fingerprints; unknown ones are left out.
	GetMany(ctx context.Context, org string, fingerprints []string) ([]pipelines.Provenance, error)
	// Builds returns a page of builds.
	Builds(ctx context.Context, q pipelines.BuildQuery) ([]pipelines.Provenance, error)
	// CountBuilds returns how many builds there are, at most MaxCount.
	CountBuilds(ctx context.Context, q pipelines.BuildQuery) (int64, error)
	// BuildTimes returns when builds were made, in Unix seconds, newest first, at most
	// q.Limit: one command for each MaxMany.
	BuildTimes(ctx context.Context, q pipelines.BuildQuery) ([]float64, error)
}

// Repos keeps source code repositories.
type Repos interface {
	// GetMany returns repositories of an organization by id; unknown ones are left out.
	GetMany(ctx context.Context, org string, ids []string) (map[string]evidence.Repo, error)
	// List returns all repositories of an organization in the order they were made.
	List(ctx context.Context, org string) ([]evidence.Repo, error)
}

// Running tells what runs.
type Running interface {
	// OfRepo returns what of a repository runs, in no certain order.
	OfRepo(ctx context.Context, repo string) ([]environments.Running, error)
}

// Successions tells what has replaced what.
type Successions interface {
	// Moments returns when artifacts of a flow began to run in environments between two
	// times in Unix seconds, newest first, out of the newest limit places: one command
	// for each MaxMany. An artifact that came under two reference names is there once.
	Moments(ctx context.Context, environments []string, flow string, from, to float64, limit int) ([]float64, error)
}
