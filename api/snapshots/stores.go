package snapshots

import (
	"context"

	"attestry/evidence"
	"attestry/evidence/policy"
	"attestry/evidence/snapshot"
	"attestry/storage/environments"
	"attestry/storage/pipelines"
)

// Stores are what the operations read and write. What does not exist is storage.ErrNotFound.
type Stores struct {
	Environments Environments
	Events       Events
	Flows        Flows
	Heads        Heads
	Policies     Policies
	Repos        Repos
	Snapshots    Snapshots
}

// Environments keeps what is configured about environments.
type Environments interface {
	// Names returns an organization's environments by id, archived ones too, for the
	// names and links of what was recorded in them.
	Names(ctx context.Context, org string, ids []string) (map[string]evidence.Environment, error)
}

// Events reads the event log of environments.
type Events interface {
	// Log returns a page of a range and how many events are in the range. As ordinals have
	// no gaps it takes three commands, however long the log and however far behind the page.
	Log(ctx context.Context, r environments.EventRange, p environments.EventPage) ([]snapshot.Event, int64, error)
	// Walk returns the next events of a range, MaxMany or as many as fit maxBytes, oldest
	// first, and the cursor of those behind them: "" at the end. It begins with the cursor "".
	Walk(ctx context.Context, r environments.EventRange, after string, maxBytes int) ([]snapshot.Event, string, error)
	// OfRepos returns a page of the events of artifacts that come from repositories, given
	// by id, and how many there are, at most MaxCount. For one repository it takes two
	// commands for every ten thousand events before the page. For several, where an event
	// may be in more than one, it looks over the range, with a command for a thousand.
	OfRepos(ctx context.Context, r environments.EventRange, repos []string, p environments.EventPage) ([]snapshot.Event, int64, error)
}

// Flows keeps flows.
type Flows interface {
	// ResolveMany is Resolve for several names: one command for all of them. Unknown
	// names, and those of archived flows, are passed over; a flow that is named twice,
	// by a former name too, comes twice.
	ResolveMany(ctx context.Context, org string, wanted []string) ([]pipelines.FlowRef, error)
	// Names returns an organization's flows by id, archived ones too, for the names and
	// links of what was recorded in them.
	Names(ctx context.Context, org string, ids []string) (map[string]evidence.Flow, error)
}

// Heads reads the heads of environments.
type Heads interface {
	// Get returns an environment's head.
	Get(ctx context.Context, environment string) (snapshot.Head, error)
}

// Policies keeps policies.
type Policies interface {
	// Applied returns versions of policies, parsed, in the order of references: one command
	// per MaxMany of those that were not used lately.
	Applied(ctx context.Context, org string, references []policy.Reference) ([]policy.Applied, error)
}

// Repos keeps source code repositories.
type Repos interface {
	// Named returns the repositories of an organization that have a name, in no order.
	// There may be several: of different providers, or where one took the name that
	// another had.
	Named(ctx context.Context, org, name string) ([]evidence.Repo, error)
	// List returns all repositories of an organization in the order they were made.
	List(ctx context.Context, org string) ([]evidence.Repo, error)
}

// Snapshots reads snapshots.
type Snapshots interface {
	// GetMany returns the snapshots that exist among numbers, in their order.
	GetMany(ctx context.Context, environment string, numbers []int64) ([]snapshot.Snapshot, error)
	// Of returns the snapshots that members of a logical environment have, in their order;
	// those that are not there are left out: one command per MaxMany.
	Of(ctx context.Context, members []snapshot.Member) ([]snapshot.Snapshot, error)
	// Latest is Last for those who need no more than the number, 0 when there is none.
	Latest(ctx context.Context, environment string) (int64, error)
	// NumberAt returns the number of the snapshot that was in force in an environment at
	// a point in time, in Unix seconds; 0 before the first.
	NumberAt(ctx context.Context, environment string, at float64) (int64, error)
	// Comparison compares what runs by two snapshots: as many commands as the second one's
	// tree has levels, and one for each level at which the first one's differs.
	Comparison(ctx context.Context, first *snapshot.Snapshot, second *snapshot.Snapshot) (snapshot.Comparison, error)
	// Artifacts reads all artifacts of a snapshot, sorted by fingerprint.
	Artifacts(ctx context.Context, of *snapshot.Snapshot) ([]snapshot.Artifact, error)
	// ArtifactsOf is Artifacts for several snapshots, in their order: as many commands as
	// the highest of their trees has levels, and more where one level has more than MaxMany
	// chunks.
	ArtifactsOf(ctx context.Context, of []snapshot.Snapshot) ([][]snapshot.Artifact, error)
	// Changes reads all changes of a snapshot.
	Changes(ctx context.Context, of *snapshot.Snapshot) ([]snapshot.Change, error)
}
