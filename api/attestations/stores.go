package attestations

import (
	"context"
	"io"

	"attestry/app/recording"
	"attestry/evidence"
	"attestry/evidence/attestation"
	"attestry/storage"
	"attestry/storage/pipelines"
)

// Stores are what the operations read and write. What does not exist is storage.ErrNotFound.
type Stores struct {
	Artifacts        Artifacts
	AttestationTypes AttestationTypes
	Attestations     Attestations
	Flows            Flows
	Objects          Objects
	Recorder         Recorder
	Retention        Retention
}

// Artifacts reads the records of artifacts.
type Artifacts interface {
	// Reported returns the records of an artifact of a flow, the newest MaxMany, by its
	// fingerprint. Of several artifacts with the beginning of one, the newest is meant.
	Reported(ctx context.Context, org, flow, fingerprint string) ([]evidence.ArtifactRecord, error)
}

// AttestationTypes keeps custom attestation types.
type AttestationTypes interface {
	// Put stores the next version of a type, which it makes if need be and revives if
	// it is archived, and returns the version's number. Concurrent ones get numbers of
	// their own. The definition must be one that compiles.
	Put(ctx context.Context, fresh evidence.AttestationTypeVersion) (int, error)
	// Head returns a type without its versions, or ErrNotFound. An archived one is
	// found.
	Head(ctx context.Context, org, name string) (evidence.AttestationType, error)
	// Get returns a type, or ErrNotFound: one command, and one more per MaxMany versions.
	Get(ctx context.Context, org, name string) (pipelines.AttestationTypeHistory, error)
	// Version returns one version of a type, or ErrNotFound.
	Version(ctx context.Context, head evidence.AttestationType, number int) (evidence.AttestationTypeVersion, error)
	// List reads all types of an organization in the order they were made, archived ones
	// too: one command per MaxMany types, and one for all versions. Where these are more than
	// a batch, there is one command for each type instead.
	List(org string) *storage.Batches[pipelines.AttestationTypeHistory]
	// LoadSchema fetches a large schema from where it is.
	LoadSchema(ctx context.Context, version *evidence.AttestationTypeVersion) error
	// Archive marks a type as archived, or returns ErrNotFound. Doing so again changes
	// nothing.
	Archive(ctx context.Context, org, name string, now float64) error
	// Current returns a type, the number of its latest version, and what payloads are
	// judged by, or ErrNotFound. An archived one is found. It takes one command, and one
	// more when the version was not used lately.
	Current(ctx context.Context, org, name string) (evidence.AttestationType, int, attestation.Definition, error)
}

// Attestations reads attestations.
type Attestations interface {
	// Get returns one attestation of an organization, or ErrNotFound.
	Get(ctx context.Context, org, id string) (evidence.Attestation, error)
	// List reads a page of attestations behind a cursor. Filters beyond an index are applied
	// while it is read; when they let too little pass within maxRounds index pages, the page
	// is short.
	List(q pipelines.AttestationQuery, after string, limit int) *storage.Batches[evidence.Attestation]
	// OfIDs reads attestations of any organization by id, in the order of ids.
	OfIDs(ids []string) *storage.Batches[evidence.Attestation]
	// Page reads the attestations behind the first of the given number.
	Page(q pipelines.AttestationQuery, offset, limit int) *storage.Batches[evidence.Attestation]
	// ByCommit reads the attestations of the query's commits, by commit, the newest limit of
	// them all. What fits a batch of maxBytes is read at once. Of more it reads the fields
	// first, and then there is a command for each commit.
	ByCommit(ctx context.Context, q pipelines.AttestationQuery, limit, maxBytes int) (map[string]*storage.Batches[evidence.Attestation], error)
	// Count tells how many attestations a query finds, at most MaxCount. It is false
	// when no index alone answers that.
	Count(ctx context.Context, q pipelines.AttestationQuery) (int64, bool, error)
	// OfArtifact reads the attestations of a name that an artifact of a flow has, at
	// most limit, newest first: those made by its fingerprint, and those made by the
	// name it was reported under in a trail, if their commit is its own
	// (docs/semantics.md 6.2). reports are its records.
	OfArtifact(org, flow string, fingerprint, name string, reports []evidence.ArtifactRecord, limit int) *storage.Batches[evidence.Attestation]
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

// Objects keeps the files of evidence.
type Objects interface {
	// Put streams r into the store, never holding more of it than a part, and
	// returns its content address below scope (an organization's id). size is
	// the number of bytes r will give, or -1 when unknown; a stream of another
	// length is an error and leaves nothing behind. Storing the same content
	// twice is harmless.
	Put(ctx context.Context, scope string, r io.Reader, size int64) (storage.Object, error)
	// Get opens length bytes of an object from offset on; a length of -1 means
	// to its end. ErrNotFound is returned by Get itself, never by the reader.
	Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)
}

// Retention keeps objects from deletion.
type Retention interface {
	// Keep keeps an object of an organization, by its name, from deletion, counted from now.
	// It is to be called behind Put and before anything refers to the object.
	Keep(ctx context.Context, org, key string) error
}

// Recorder records facts, and what follows from them.
type Recorder interface {
	// Attest records an attestation, and begins its flow and trail where it needs
	// neither to be there before (docs/semantics.md 4.2). What it does not know of
	// its place it fills in. An attestation of a fingerprint that was not reported in
	// the trail is evidence.NotFound.
	Attest(ctx context.Context, scope recording.Scope, attestation evidence.Attestation, repo *evidence.Repo) error
	// Override records an attestation that replaces the verdict of the latest one of
	// its name, type and target, or of one that is required and missing. Where there is
	// neither, it is evidence.Invalid.
	Override(ctx context.Context, scope recording.Scope, attestation evidence.Attestation, repo *evidence.Repo) error
}
