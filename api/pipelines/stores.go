package pipelines

import (
	"context"

	"attestry/app/recording"
	"attestry/app/states"
	"attestry/evidence"
	"attestry/evidence/snapshot"
	"attestry/evidence/template"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// Stores are what the operations read and write. What does not exist is storage.ErrNotFound.
type Stores struct {
	Approvals    Approvals
	Artifacts    Artifacts
	Attestations Attestations
	Controls     Controls
	Environments Environments
	Events       Events
	Flows        Flows
	Generations  Generations
	Heads        Heads
	Recorder     Recorder
	Repos        Repos
	Slots        Slots
	States       States
	Templates    Templates
	Trails       Trails
}

// Approvals reads the approvals of artifacts.
type Approvals interface {
	// Numbers returns the release numbers of artifacts in a flow, ascending, by fingerprint:
	// one command for MaxMany fingerprints, and one more for each MaxMany approvals.
	Numbers(ctx context.Context, flow string, fingerprints []string) (map[string][]int, error)
}

// Artifacts reads the records of artifacts.
type Artifacts interface {
	// Search finds what an organization knows of a fingerprint or commit that is, or
	// begins with, the given hex digits. ErrAmbiguous tells that these are too many.
	// Of what was reported over and over, the newest thousand reports are looked at.
	Search(ctx context.Context, org, digits string) (pipelines.Traces, error)
	// OfIDs reads records by id, in the order of ids.
	OfIDs(ids []string) *storage.Batches[evidence.ArtifactRecord]
	// List reads a page of records.
	List(q pipelines.ArtifactQuery) *storage.Batches[evidence.ArtifactRecord]
	// TrailsWith returns the keys of the trails to which a fingerprint was reported,
	// those it was reported to last first.
	TrailsWith(ctx context.Context, org, fingerprint string) ([]string, error)
	// Latest returns the newest record of a flow whose fingerprint is, or begins with,
	// the given hex digits, or ErrNotFound. A trail other than "" narrows it down to
	// what was reported there.
	Latest(ctx context.Context, org, flow string, trail, fingerprint string) (evidence.ArtifactRecord, error)
	// LatestOnBranch is Latest of those that were built from a branch, or of all when
	// that is "".
	LatestOnBranch(ctx context.Context, org, flow string, branch, fingerprint string) (evidence.ArtifactRecord, error)
	// LatestOfFlow returns the newest record of a flow, of those built from a branch
	// unless that is "", or ErrNotFound.
	LatestOfFlow(ctx context.Context, org, flow, branch string) (evidence.ArtifactRecord, error)
	// OfCommit reads the records of a flow that were built from a commit, or from
	// those that begin with the given five or more hex digits: newest first, at most
	// limit. A trail other than "" narrows them down to what was reported there.
	// ErrAmbiguous tells that too many commits begin so.
	OfCommit(ctx context.Context, org, flow string, trail, commit string, limit int) (*storage.Batches[evidence.ArtifactRecord], error)
}

// Attestations reads attestations.
type Attestations interface {
	// OfRecords returns all that was attested of records in their trails, also what was
	// superseded. Like LatestOfRecords it takes one command for MaxMany attestations by
	// fingerprint, one for MaxMany in the trails that have no fingerprint, and one more for
	// each of these pages that has attestations of earlier versions.
	OfRecords(ctx context.Context, org string, records []evidence.ArtifactRecord) (pipelines.Attested, error)
	// Get returns one attestation of an organization, or ErrNotFound.
	Get(ctx context.Context, org, id string) (evidence.Attestation, error)
}

// Controls keeps controls.
type Controls interface {
	// SetTags removes and sets tags of a control, or returns ErrNotFound.
	SetTags(ctx context.Context, org, identifier string, set map[string]string, remove []string) error
}

// Environments keeps what is configured about environments.
type Environments interface {
	// Names returns an organization's environments by id, archived ones too, for the
	// names and links of what was recorded in them.
	Names(ctx context.Context, org string, ids []string) (map[string]evidence.Environment, error)
	// SetTags sets and removes tags of an environment; at is the time in Unix seconds.
	SetTags(ctx context.Context, id string, set map[string]string, remove []string, at float64) error
}

// Events reads the event log of environments.
type Events interface {
	// OfArtifacts returns what happened to fingerprints in the environments of an
	// organization, newest first.
	OfArtifacts(ctx context.Context, org string, fingerprints []string) ([]snapshot.Event, error)
	// Beginning returns the fingerprints that run or ran in an organization and begin
	// with hex digits. ErrAmbiguous tells that these are too many.
	Beginning(ctx context.Context, org, digits string) ([]string, error)
}

// Flows keeps flows.
type Flows interface {
	// Get returns a flow by id, archived ones too, or ErrNotFound.
	Get(ctx context.Context, id string) (evidence.Flow, error)
	// Names returns an organization's flows by id, archived ones too, for the names and
	// links of what was recorded in them.
	Names(ctx context.Context, org string, ids []string) (map[string]evidence.Flow, error)
	// List returns all flows of an organization that are not archived, in the order
	// they were made.
	List(ctx context.Context, org string) ([]evidence.Flow, error)
	// Put stores fresh under its name, or has it applied to the flow that has the name
	// already. A name that is a former one, or that of an archived flow, is taken for
	// the new one. Without a template, a new flow gets the empty one, and a flow that
	// exists keeps its own. It returns the flow as stored and reports whether it is new.
	Put(ctx context.Context, fresh evidence.Flow) (created bool, flow evidence.Flow, err error)
	// Rename gives the flow of a name, or of a former name, another one; at is the time
	// in Unix seconds. ErrNotFound tells that there is no such flow. A name that
	// another flow has is evidence.Invalid.
	Rename(ctx context.Context, org, from, to string, at float64) error
	// Archive takes the flow of a name, or of a former name, out of use; at is the time
	// in Unix seconds. What was recorded in it stays. ErrNotFound tells that there is
	// no such flow.
	Archive(ctx context.Context, org, name string, at float64) error
	// SetTags sets and removes tags of a flow; at is the time in Unix seconds.
	SetTags(ctx context.Context, id string, set map[string]string, remove []string, at float64) error
}

// Generations says when facts about what runs have changed.
type Generations interface {
	// Bump gives an organization a fresh generation, so that the next report of
	// every environment is judged anew.
	Bump(ctx context.Context, org string) error
}

// Heads reads the heads of environments.
type Heads interface {
	// GetMany returns the heads of environments, by id.
	GetMany(ctx context.Context, environments []string) (map[string]snapshot.Head, error)
}

// Recorder records facts, and what follows from them.
type Recorder interface {
	// Begin begins a trail of the flow of that id, or patches the one that is there.
	// It reports whether it was begun.
	Begin(ctx context.Context, scope recording.Scope, flow string, change evidence.TrailChange, repo *evidence.Repo) (created bool, err error)
	// Report records an artifact, and begins its flow and trail if need be. What it
	// does not know of the record's place it fills in. The record gets a later time than all
	// of its trail, of its fingerprint, and than all artifacts of its flow.
	Report(ctx context.Context, scope recording.Scope, record evidence.ArtifactRecord, repo *evidence.Repo) error
}

// Repos keeps source code repositories.
type Repos interface {
	// GetMany returns repositories of an organization by id; unknown ones are left out.
	GetMany(ctx context.Context, org string, ids []string) (map[string]evidence.Repo, error)
	// List returns all repositories of an organization in the order they were made.
	List(ctx context.Context, org string) ([]evidence.Repo, error)
	// SetTags removes and then sets tags of a repository. ErrNotFound tells that the
	// organization has none of that id.
	SetTags(ctx context.Context, org, id string, set map[string]string, remove []string) error
}

// Slots reads slots.
type Slots interface {
	// GetMany returns slots by id, in the order of ids.
	GetMany(ctx context.Context, ids []string) ([]evidence.Slot, error)
}

// States evaluates artifacts in their trails.
type States interface {
	// Evaluate evaluates records, in their order: one command per MaxMany trails, templates
	// and slots. attested is what Attestations.OfRecords returned for the records. If it is
	// nil, those of incomplete slots take the commands of RebuildSlots.
	Evaluate(ctx context.Context, org string, records []evidence.ArtifactRecord, attested pipelines.Attested) ([]states.Evaluated, error)
}

// Templates keeps flow templates.
type Templates interface {
	// Put parses a template and stores it, unless it is there: one command at most. A
	// template that is wrong is a *template.Error.
	Put(ctx context.Context, org string, content []byte) (id string, parsed template.Template, err error)
	// Get returns a template, or ErrNotFound: no command when it was used lately, else
	// one.
	Get(ctx context.Context, org, id string) (pipelines.StoredTemplate, error)
	// GetMany returns the templates that exist among ids, by id: one command per
	// MaxMany of those that were not used lately.
	GetMany(ctx context.Context, org string, ids []string) (map[string]pipelines.StoredTemplate, error)
	// Texts returns the texts of the templates that exist among ids, by id: one command per
	// MaxMany of those that were not used lately. Large ones, which are objects, are left out.
	Texts(ctx context.Context, org string, ids []string) (map[string][]byte, error)
}

// Trails reads trails.
type Trails interface {
	// List reads a page of trails.
	List(ctx context.Context, q pipelines.TrailQuery) (*storage.Batches[evidence.Trail], error)
	// OfKeys reads trails by key, in the order of keys.
	OfKeys(keys []string) *storage.Batches[evidence.Trail]
	// Totals returns how many trails flows have; nil means all flows there are.
	Totals(ctx context.Context, org string, flows []string) (int64, error)
	// Latest returns the trail of each flow that was begun last, by the flow's id.
	Latest(ctx context.Context, flows []string) (map[string]evidence.Trail, error)
	// Events returns the events of a trail, oldest first.
	Events(ctx context.Context, trail *evidence.Trail) ([]evidence.TrailEvent, error)
}
