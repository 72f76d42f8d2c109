package environments

import (
	"context"

	"attestry/evidence"
	"attestry/evidence/policy"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/environments"
)

// Stores are what the operations read and write. What does not exist is storage.ErrNotFound.
type Stores struct {
	Allowlist    Allowlist
	Environments Environments
	Generations  Generations
	Heads        Heads
	Policies     Policies
	Running      Running
}

// Running keeps what runs where.
type Running interface {
	// Runs reports whether a fingerprint runs, or is about to, in an environment: one command.
	Runs(ctx context.Context, environment, fingerprint string) (bool, error)
}

// Allowlist keeps allow lists.
type Allowlist interface {
	// Put permits an artifact in an environment, or repeats that it is permitted. It
	// returns the allowance as stored.
	Put(ctx context.Context, fresh evidence.Allowance) (evidence.Allowance, error)
	// List reads everything that an organization permits, newest first.
	List(org string) *storage.Batches[evidence.Allowance]
}

// Environments keeps what is configured about environments.
type Environments interface {
	// Resolve looks an environment up by its name, or by one that it had and no other
	// environment has taken since: one command. ErrNotFound tells that the name is
	// unknown, ErrArchived that it is that of an archived environment.
	Resolve(ctx context.Context, org, name string) (environments.EnvironmentRef, error)
	// ResolveMany is Resolve for several names: one command for all of them. Unknown
	// names, and those of archived environments, are not in the answer.
	ResolveMany(ctx context.Context, org string, wanted []string) (map[string]environments.EnvironmentRef, error)
	// Get returns an environment by id, an archived one too, or ErrNotFound.
	Get(ctx context.Context, id string) (evidence.Environment, error)
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
	// Put stores fresh under its name, or changes the environment that has the name
	// already. A name that is a former one, or that of an archived environment, is taken
	// for the new one. It reports whether it made a new one. Another type than the
	// environment has is Invalid.
	Put(ctx context.Context, fresh evidence.Environment, change evidence.EnvironmentChange) (created bool, err error)
	// Change changes what is sent of an environment; at is the time in Unix seconds.
	// ErrArchived tells that it was archived meanwhile.
	Change(ctx context.Context, id string, change evidence.EnvironmentChange, at float64) error
	// Join adds a member, by its id, to a logical environment; at is the time in Unix
	// seconds. Joining again changes nothing. ErrArchived tells that the logical
	// environment was archived meanwhile.
	Join(ctx context.Context, id, member string, at float64) error
	// AttachPolicies attaches policies, by name, to an environment; at is the time in Unix
	// seconds. Attaching again changes nothing. ErrArchived tells that the environment was
	// archived meanwhile; more than evidence.MaxPolicies are Invalid.
	AttachPolicies(ctx context.Context, id string, names []string, at float64) error
	// DetachPolicies detaches policies, by name, from an environment; at is the time in Unix
	// seconds. ErrArchived tells that the environment was archived meanwhile.
	DetachPolicies(ctx context.Context, id string, names []string, at float64) error
	// Rename gives the environment of a name, or of a former name, another one; at is
	// the time in Unix seconds. ErrNotFound tells that there is no such environment,
	// ErrArchived that it is archived. A name that another environment has is
	// evidence.Invalid.
	Rename(ctx context.Context, org, from, to string, at float64) error
	// Archive takes the environment of a name, or of a former name, out of use; at is
	// the time in Unix seconds. What was recorded in it stays. ErrNotFound tells that
	// there is no such environment, ErrArchived that it is archived already.
	Archive(ctx context.Context, org, name string, at float64) error
	// List returns all environments of an organization that are not archived, in the
	// order they were made.
	List(ctx context.Context, org string) ([]evidence.Environment, error)
}

// Generations says when facts about what runs have changed.
type Generations interface {
	// Bump gives an organization a fresh generation, so that the next report of
	// every environment is judged anew.
	Bump(ctx context.Context, org string) error
}

// Heads reads the heads of environments.
type Heads interface {
	// Get returns an environment's head.
	Get(ctx context.Context, environment string) (snapshot.Head, error)
	// GetMany returns the heads of environments, by id.
	GetMany(ctx context.Context, environments []string) (map[string]snapshot.Head, error)
}

// Policies keeps policies.
type Policies interface {
	// GetMany returns the policies that exist among names, by name: one command per MaxMany.
	GetMany(ctx context.Context, org string, names []string) (map[string]policy.Head, error)
}
