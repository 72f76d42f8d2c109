package storage

import (
	"log/slog"
	"slices"

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
	Deployments  *Deployments
	Successions  *Successions
	Sightings    *Sightings
	Tokens       *Tokens
	Leases       *Leases
	Templates    *Templates
	Flows        *Flows
	Trails       *Trails
	Repos        *Repos
	Slots        *Slots
	Artifacts    *Artifacts
	Attestations *Attestations
	TrailEvents  *TrailEvents
	Provenances  *Provenances
	Decisions    *Decisions
	Allowlist    *Allowlist
	Recorder     *Recorder
	Reconciler   *Reconciler
	// AttestationTypes are the custom ones.
	AttestationTypes *AttestationTypes
}

// NewStore builds the repositories. The engine behind docs must have been opened
// with Schemas. What fails in the background is logged.
func NewStore(docs Documents, objects Objects, clock evidence.Clock, log *slog.Logger) *Store {
	heads := newHeads(docs)
	names := newNames(docs)
	store := &Store{
		Documents:    docs,
		Objects:      objects,
		Tenancy:      NewTenancy(docs, clock, log),
		Environments: newEnvironments(docs, names, heads),
		Heads:        heads,
		Reports:      newReports(docs, objects),
		Snapshots:    newSnapshots(docs),
		Running:      newRunningSet(docs),
		Events:       newEvents(docs),
		Deployments:  newDeployments(docs),
		Successions:  newSuccessions(docs),
		Sightings:    newSightings(docs),
		Tokens:       newTokens(docs),
		Leases:       newLeases(docs, clock),
		Templates:    newTemplates(docs, objects),
		Flows:        newFlows(docs, names),
		Repos:        newRepos(docs, clock),
		Slots:        newSlots(docs),
		Artifacts:    newArtifacts(docs),
		Attestations: newAttestations(docs),
		TrailEvents:  newTrailEvents(docs),
		Provenances:  newProvenances(docs),
		Decisions:    newDecisions(docs),
		Allowlist:    newAllowlist(docs),

		AttestationTypes: newAttestationTypes(docs, objects),
	}
	store.Trails = newTrails(docs, newTrailTallies(docs), store.TrailEvents, store.Tokens)
	store.Recorder = NewRecorder(Repositories{
		Flows: store.Flows, Templates: store.Templates, Trails: store.Trails, Slots: store.Slots,
		Artifacts: store.Artifacts, Attestations: store.Attestations, TrailEvents: store.TrailEvents,
		Provenances: store.Provenances, Decisions: store.Decisions, Repos: store.Repos, Running: store.Running, Tokens: store.Tokens,
	}, docs, clock)
	store.Reconciler = NewReconciler(store.Recorder)
	return store
}

// Schemas declares every collection there is.
func Schemas() []*Schema {
	return slices.Concat(TenancySchemas(), PipelineSchemas(), EnvironmentSchemas(), RecordingSchemas(),
		[]*Schema{nameSchema, tokenSchema, leaseSchema, ProbeSchema})
}
