package webhooks

import (
	"context"

	"attestry/app/recording"
	"attestry/evidence"
	"attestry/evidence/identity"
)

// Stores are what the operations read and write.
type Stores struct {
	Flows    Flows
	Recorder Recorder
	Tenancy  Tenancy
}

// Flows keeps flows.
type Flows interface {
	// Ensure returns the flow of a name, and makes one with the empty template when there is
	// none: at is the time in Unix seconds. It reports whether it made a new one.
	Ensure(ctx context.Context, org, name, by string, at float64) (flow evidence.Flow, created bool, err error)
}

// Recorder records facts, and what follows from them.
type Recorder interface {
	// Attest records an attestation, and begins its flow and trail where it needs neither to
	// be there before.
	Attest(ctx context.Context, scope recording.Scope, attestation evidence.Attestation, repo *evidence.Repo) error
	// Begin begins a trail of the flow of that id, or patches the one that is there. It
	// reports whether it was begun.
	Begin(ctx context.Context, scope recording.Scope, flow string, change evidence.TrailChange, repo *evidence.Repo) (created bool, err error)
}

// Tenancy keeps the inbound webhooks of organizations.
type Tenancy interface {
	// Hook returns the inbound webhook of a kind with a uid, or storage.ErrNotFound.
	Hook(ctx context.Context, kind identity.HookKind, uid string) (identity.Hook, error)
}
