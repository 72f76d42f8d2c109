package storage

import (
	"log/slog"

	"attestry/evidence"
)

// Store is every repository over one pair of engines.
type Store struct {
	Documents    Documents
	Objects      Objects
	Tenancy      *Tenancy
	Environments *Environments
	Heads        *Heads
	Reports      *Reports
	Snapshots    *Snapshots
	Running      *RunningSet
	Events       *Events
	Tokens       *Tokens
	Leases       *Leases
}

// NewStore builds the repositories. The engine behind docs must have been opened
// with Schemas. What fails in the background is logged.
func NewStore(docs Documents, objects Objects, clock evidence.Clock, log *slog.Logger) *Store {
	heads := newHeads(docs)
	return &Store{
		Documents:    docs,
		Objects:      objects,
		Tenancy:      NewTenancy(docs, clock, log),
		Environments: newEnvironments(docs, newNames(docs), heads),
		Heads:        heads,
		Reports:      newReports(docs, objects),
		Snapshots:    newSnapshots(docs),
		Running:      newRunningSet(docs),
		Events:       newEvents(docs),
		Tokens:       newTokens(docs),
		Leases:       newLeases(docs, clock),
	}
}

// Schemas declares every collection there is.
func Schemas() []*Schema {
	return append(TenancySchemas(),
		nameSchema, environmentSchema, headSchema, reportSchema, snapshotSchema,
		chunkSchema, runningSchema, eventSchema, tokenSchema, leaseSchema)
}
