package governance

import (
	"context"

	"attestry/app/facts"
	"attestry/evidence"
	"attestry/evidence/approval"
	"attestry/evidence/control"
	"attestry/evidence/policy"
	"attestry/evidence/snapshot"
	"attestry/storage"
	"attestry/storage/environments"
	"attestry/storage/governance"
	"attestry/storage/pipelines"
)

// Stores are what the operations read and write. Each returns storage.ErrNotFound for what
// does not exist.
type Stores struct {
	Policies     Policies
	Controls     Controls
	Environments Environments
	Attestations Attestations
	Flows        Flows
	Generations  Generations
	Provenances  Provenances
	Facts        Facts
	Allowlist    Allowlist
	Snapshots    Snapshots
	Approvals    Approvals
	Artifacts    Artifacts
	Recorder     Recorder
	Heads        Heads
	Running      Running
}

// Policies keeps policies and their versions.
type Policies interface {
	// Put creates a policy or changes the one of that name. ErrNotFound means that there is
	// neither a policy nor a file.
	Put(ctx context.Context, change governance.Change) (created bool, err error)
	// List returns the policies of an organization by name.
	List(ctx context.Context, org string) ([]policy.Head, error)
	// Latest returns policies in their latest versions, in the order of names. Names of no
	// policy are left out.
	Latest(ctx context.Context, org string, names []string) ([]policy.Applied, error)
	// History returns a policy with its versions.
	History(ctx context.Context, org, name string) (governance.History, error)
	// Histories reads the policies of an organization by name, with their versions.
	Histories(org string) *storage.Batches[governance.History]
}

// Controls keeps controls and their versions.
type Controls interface {
	// Create returns storage.ErrExists for an identifier that is taken.
	Create(ctx context.Context, fresh control.Control) (control.Control, error)
	// Change returns the control as it is then.
	Change(ctx context.Context, org, identifier string, change control.Change, by string, at float64) (control.Control, error)
	Get(ctx context.Context, org, identifier string) (control.Control, error)
	GetMany(ctx context.Context, org string, identifiers []string) (map[string]control.Control, error)
	// List returns the controls of an organization, archived ones too, by identifier.
	List(ctx context.Context, org string) ([]control.Control, error)
	Version(ctx context.Context, org, identifier string, version int) (control.Version, error)
	// Versions returns a page of the versions of a control, by number.
	Versions(ctx context.Context, of *control.Control, descending bool, offset, limit int) ([]control.Version, error)
}

// Environments keeps what is configured about environments.
type Environments interface {
	// List returns the environments of an organization that are not archived.
	List(ctx context.Context, org string) ([]evidence.Environment, error)
	// Names returns an organization's environments by id, archived ones too.
	Names(ctx context.Context, org string, ids []string) (map[string]evidence.Environment, error)
}

// Attestations keeps the decisions on controls.
type Attestations interface {
	Get(ctx context.Context, org, id string) (evidence.Attestation, error)
	// Decisions returns a page of the decisions on a control, by time, and how many there are.
	Decisions(ctx context.Context, q pipelines.DecisionQuery, offset, limit int) ([]evidence.Attestation, int64, error)
}

// Flows keeps flows.
type Flows interface {
	// Names returns flows, archived ones too, by id.
	Names(ctx context.Context, org string, ids []string) (map[string]evidence.Flow, error)
}

// Generations says when facts about what runs have changed.
type Generations interface {
	// Bump makes the next report of every environment of the organization be evaluated anew.
	Bump(ctx context.Context, org string) error
}

// Provenances says where fingerprints are known from.
type Provenances interface {
	// GetMany returns the provenance of those of fingerprints that flows know.
	GetMany(ctx context.Context, org string, fingerprints []string) ([]pipelines.Provenance, error)
}

// Facts reads what policies evaluate artifacts by.
type Facts interface {
	// Load reads what is known of artifacts, in their order, with the latest decisions on the
	// given controls.
	Load(ctx context.Context, org string, subjects []facts.Subject, controls []string) ([]facts.Artifact, error)
}

// Allowlist keeps allow lists.
type Allowlist interface {
	// Of returns which of fingerprints are permitted in an environment.
	Of(ctx context.Context, environment string, fingerprints []string) (map[string]evidence.Allowance, error)
}

// Snapshots reads snapshots.
type Snapshots interface {
	// Last returns the last snapshot of an environment, one without a number when there is
	// none.
	Last(ctx context.Context, environment string) (snapshot.Snapshot, error)
	// Artifacts reads all artifacts of a snapshot, sorted by fingerprint.
	Artifacts(ctx context.Context, of *snapshot.Snapshot) ([]snapshot.Artifact, error)
}

// Approvals keeps the approvals of artifacts.
type Approvals interface {
	// Get returns the approval of a flow with a release number.
	Get(ctx context.Context, flow string, number int) (approval.Approval, error)
	// List reads a page of the approvals of a flow, newest first.
	List(flow string, offset, limit int) *storage.Batches[approval.Approval]
	// OfArtifact reads the approvals of an artifact in a flow, newest first.
	OfArtifact(flow, fingerprint string) *storage.Batches[approval.Approval]
}

// Artifacts reads the records of artifacts.
type Artifacts interface {
	// Latest returns the newest record of a flow whose fingerprint is, or begins with, the
	// given hex digits. A trail other than "" narrows it down to what was reported there.
	Latest(ctx context.Context, org, flow, trail, fingerprint string) (evidence.ArtifactRecord, error)
	// GetMany returns records by id, in the order of ids.
	GetMany(ctx context.Context, ids []string) ([]evidence.ArtifactRecord, error)
	// Builds returns the newest record that was built from each of the commits, by their
	// SHAs; those that nothing was built from are left out.
	Builds(ctx context.Context, org string, commits []string) (map[string]evidence.ArtifactRecord, error)
}

// Recorder records facts, and what follows from them.
type Recorder interface {
	// Approve records the approval of an artifact under the next release number of its flow,
	// and tells the artifact's trail.
	Approve(ctx context.Context, fresh approval.Approval) error
}

// Heads reads the heads of environments.
type Heads interface {
	// GetMany returns the heads of environments, by id.
	GetMany(ctx context.Context, environments []string) (map[string]snapshot.Head, error)
}

// Running tells what runs.
type Running interface {
	// In returns what runs, or is about to, in environments of these ids, in no certain
	// order.
	In(ctx context.Context, environments []string) ([]environments.Running, error)
}
